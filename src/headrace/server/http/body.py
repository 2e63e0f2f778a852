"""The body of a request: bounded in size and time, and a value of a known kind or a refusal."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from headrace.server.http_error import Problem, media_type

T = TypeVar("T", bound=msgspec.Struct)
BODY_S = 30.0
"""How long a request may take to send it."""


async def body_of(request: Request, kind: type[T], max_bytes: int) -> T:
    """The JSON of a request as a value. Raises a `Problem` that says what is wrong with it."""
    if media_type(request.headers.get("content-type", "")) != "application/json":
        raise Problem(415, "not_json", "send Content-Type: application/json")
    try:
        async with asyncio.timeout(BODY_S):
            data = await _read(request, max_bytes)
        return msgspec.json.decode(data, type=kind)
    except TimeoutError:
        raise Problem(408, "too_slow", "the body took too long to come") from None
    except ClientDisconnect:
        raise Problem(400, "cut", "the body broke off") from None
    except msgspec.ValidationError as error:
        raise Problem(422, "bad_field", str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Problem(400, "bad_body", str(error)) from None


async def _read(request: Request, max_bytes: int) -> bytearray:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > max_bytes:
            raise Problem(413, "too_large", f"a request may have {max_bytes} bytes")
    return data
