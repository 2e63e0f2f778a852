"""Errors of HTTP requests, and the JSON responses that report them."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from starlette.responses import Response


class HTTPError(Exception):
    """Ends a request with an error response.

    `code` is for programs, `message` for people; `more` are further fields of the response. With
    `retry_after_s`, the response tells the client when to try again.
    """

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.more = more


class DoorError(HTTPError):
    """Ends a request of another project's protocol. The codes of these errors are those of the
    protocol or of a provider, beside the codes of Headrace's own API."""


class JSONResponse(Response):
    """A JSON response encoded by msgspec."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200) -> None:
        super().__init__(msgspec.json.encode(content), status)


def error_response(status: int, code: str, message: str, request_id: str, **more: Any) -> Response:
    """Return the response that reports an error."""
    body = {"error": {"code": code, "message": message, "request_id": request_id, **more}}
    return add_retry_after(JSONResponse(body, status), more.get("retry_after_s"))


def add_retry_after(response: Response, wait_s: float | None) -> Response:
    """Tell the client when to try again, if that is known."""
    if wait_s is not None:
        response.headers["retry-after"] = str(max(1, math.ceil(wait_s)))
    return response


def media_type(header: str) -> str:
    """Return the media type of a `Content-Type` header, without its parameters."""
    return header.partition(";")[0].strip().lower()
