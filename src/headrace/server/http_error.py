"""What goes wrong with a request: an answer that says what to do, and a number to ask about."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response


class Problem(Exception):
    """A refusal: an answer with a status of 4xx, or of 503 where the server cannot do it now.
    `code` is for programs, the message for people. One with `retry_after_s` says when to come
    back."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.more = more


def answer(status: int, code: str, message: str, request_id: str, **more: Any) -> Response:
    """The body of every error."""
    body = {"error": {"code": code, "message": message, "request_id": request_id, **more}}
    reply = JSON(body, status)
    if "retry_after_s" in more:
        reply.headers["retry-after"] = str(max(1, math.ceil(more["retry_after_s"])))
    return reply


async def refused(request: Request, error: Exception) -> Response:
    """What no route takes: in the form of every other error."""
    assert isinstance(error, HTTPException)
    code, text = _WORDS.get(error.status_code, ("refused", error.detail))
    reply = answer(error.status_code, code, text, request.state.request_id)
    reply.headers.update(error.headers or {})
    return reply


_WORDS = {
    404: ("not_found", "there is nothing at this address"),
    405: ("wrong_verb", "this address does not take that verb"),
}


def media_type(header: str) -> str:
    """What a `Content-Type` names, without its parameters."""
    return header.partition(";")[0].strip().lower()


class JSON(Response):
    """JSON by msgspec."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200) -> None:
        super().__init__(msgspec.json.encode(content), status)
