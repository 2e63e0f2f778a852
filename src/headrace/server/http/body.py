"""Reads the JSON body of a request, with limits on its size and time."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from headrace.events import JSONObject
from headrace.server.budgets.upload_budget import Upload, UploadBudget
from headrace.server.http_error import HTTPError, media_type
from headrace.server.settings import Settings

T = TypeVar("T")


async def read_body(request: Request, kind: type[T], settings: Settings) -> T:
    """Decode the JSON body of a request. Raises an `HTTPError` that says what is wrong with it."""
    return await _decode(request, kind, settings, settings.max_body_bytes)


async def read_upload(request: Request, settings: Settings) -> JSONObject:
    """Decode the JSON object that a client of another protocol sends, which may contain images and
    files. Raises an `HTTPError` that says what is wrong with it."""
    budget: UploadBudget = request.app.state.service.uploads
    with budget.upload() as upload:
        return await _decode(request, dict[str, Any], settings, settings.max_upload_bytes, upload)


async def _decode(
    request: Request,
    kind: type[T],
    settings: Settings,
    max_bytes: int,
    upload: Upload | None = None,
) -> T:
    if media_type(request.headers.get("content-type", "")) != "application/json":
        raise HTTPError(415, "not_json", "send Content-Type: application/json")
    try:
        async with asyncio.timeout(settings.body_timeout_s):
            data = await _read(request, max_bytes, upload)
        return msgspec.json.decode(data, type=kind)
    except TimeoutError:
        raise HTTPError(408, "too_slow", "the request body took too long to arrive") from None
    except ClientDisconnect:
        raise HTTPError(400, "cut", "the request body is incomplete") from None
    except msgspec.ValidationError as error:
        raise HTTPError(422, "bad_field", str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise HTTPError(400, "bad_body", str(error)) from None


async def _read(request: Request, max_bytes: int, upload: Upload | None) -> bytearray:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if upload is not None:
            upload.add(len(chunk))
        if len(data) > max_bytes:
            raise HTTPError(413, "too_large", f"the request body is larger than {max_bytes} bytes")
    return data
