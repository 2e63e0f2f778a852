"""What goes wrong with a request: an answer that says what to do, and a number to ask about."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response


class Problem(Exception):
    """An answer with a status of 4xx; `code` is for programs, the message for people."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.more = more


def answer(status: int, code: str, message: str, request_id: str, **more: Any) -> Response:
    """The body of every error."""
    body = {"error": {"code": code, "message": message, "request_id": request_id, **more}}
    return JSON(body, status)


class JSON(Response):
    """JSON by msgspec."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200) -> None:
        super().__init__(msgspec.json.encode(content), status)
