"""Error responses in the shape that the clients of each protocol expect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope

from headrace.outcome import ERROR_CATEGORIES
from headrace.projections.openai_chat import to_error
from headrace.server.http_error import HTTPError, JSONResponse, add_retry_after, error_response

UPLOAD_PATHS: Final = ("/v1/", "/api/ai-sdk/", "/api/ag-ui", "/api/files")
"""Addresses whose requests may be as long as `Settings.max_upload_bytes`."""
ErrorShape: TypeAlias = Callable[[HTTPError, str], Response]
"""Returns the response for an error and the id of the request."""


def local_path(scope: Scope) -> str:
    """Return the address of a request inside of the application, without the prefix that it is
    mounted or served under."""
    path: str = scope["path"]
    prefix: str = scope.get("root_path", "")
    inside = path.removeprefix(prefix)
    return inside if inside.startswith("/") else path


def find_error_shape(path: str) -> ErrorShape:
    """Return how errors are reported at an address."""
    for prefix, shape in _SHAPES.items():
        if path == prefix or path.startswith(prefix + "/"):
            return shape
    return _own_shape


def _own_shape(error: HTTPError, request_id: str) -> Response:
    return error_response(error.status, error.code, error.message, request_id, **error.more)


def _openai_shape(error: HTTPError, request_id: str) -> Response:
    body = {
        "error": {
            "message": error.message,
            "type": openai_error_type(error.status),
            "param": error.more.get("param"),
            "code": openai_error_code(error.code),
        }
    }
    return add_retry_after(JSONResponse(body, error.status), error.more.get("retry_after_s"))


def openai_error_type(status: int) -> str:
    """Return the `type` of an error of OpenAI's API with this HTTP status."""
    default = "server_error" if status >= 500 else "invalid_request_error"
    return _OPENAI_TYPES.get(status, default)


def openai_error_code(code: str) -> str | None:
    """Return OpenAI's code for an error. Categories of errors have one; other codes stay."""
    if code == "not_found":
        # OpenAI's code is for models only, and not for other things that do not exist.
        return code
    return to_error(code, "").code if code in ERROR_CATEGORIES else code


def _anthropic_shape(error: HTTPError, request_id: str) -> Response:
    kind = anthropic_error_type(error.status)
    body = {
        "type": "error",
        "error": {"type": kind, "message": error.message},
        "request_id": request_id,
    }
    return add_retry_after(JSONResponse(body, error.status), error.more.get("retry_after_s"))


def anthropic_error_type(status: int) -> str:
    """Return the `type` of an error of Anthropic's API with this HTTP status."""
    default = "api_error" if status >= 500 else "invalid_request_error"
    return _ANTHROPIC_TYPES.get(status, default)


def _ai_sdk_shape(error: HTTPError, request_id: str) -> Response:
    """The AI SDK takes the whole body for the message that its users see."""
    response = PlainTextResponse(error.message, error.status, {"x-error-code": error.code})
    return add_retry_after(response, error.more.get("retry_after_s"))


def _ag_ui_shape(error: HTTPError, request_id: str) -> Response:
    body = {"type": "RUN_ERROR", "message": error.message, "code": error.code}
    return add_retry_after(JSONResponse(body, error.status), error.more.get("retry_after_s"))


_OPENAI_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_ANTHROPIC_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_SHAPES: Final[dict[str, ErrorShape]] = {
    "/v1/messages": _anthropic_shape,
    "/v1": _openai_shape,
    "/api/ai-sdk": _ai_sdk_shape,
    "/api/ag-ui": _ag_ui_shape,
}
