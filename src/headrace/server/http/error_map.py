"""The HTTP errors that exceptions and unknown addresses become."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace.errors import RequestFailed
from headrace.log import get_logger
from headrace.readers import InvalidRequest
from headrace.server.http.error_shape import find_error_shape, local_path
from headrace.server.http_error import DoorError, HTTPError
from headrace.server.runs.unstored import to_door_error
from headrace.server.storage.errors import SearchFailed, StorageFailed, TextRefused
from headrace.server.storage.search_terms import TooManyWords
from headrace.server.storage.store import KeyTaken, NotFound, RunLive
from headrace.transport.call_secrets import hide_addresses

_logger = get_logger("server")


def to_http_error(error: Exception) -> HTTPError:
    """Return the error that a client is told for an exception of a route."""
    match error:
        case HTTPError():
            return error
        case InvalidRequest():
            more = {} if error.param is None else {"param": error.param}
            return DoorError(400, "invalid_request", str(error), **more)
        case RequestFailed():
            text = hide_addresses(str(error))
            return to_door_error(error.category, text, error.retry_after_s)
        case NotFound() | TextRefused():
            is_told = isinstance(error, NotFound)
            text = str(error) if is_told else "nothing with this id was found"
            return HTTPError(404, "not_found", text)
        case RunLive():
            text = "an answer to this message is being written: watch it, or send is_branch"
            return HTTPError(409, "run_live", text, event_id=error.message_id)
        case KeyTaken():
            return HTTPError(422, "key_taken", str(error))
        case TooManyWords():
            return HTTPError(400, "too_many_words", str(error))
        case SearchFailed():
            return HTTPError(503, "search_busy", str(error), retry_after_s=1.0)
        case StorageFailed():
            _logger.error("the database failed: %s", error)
            text = "the server cannot write to its database: try again later"
            return HTTPError(503, "storage", text, retry_after_s=5.0)
        case _:
            return HTTPError(400, "bad_request", str(error))


async def handle_router_error(request: Request, error: Exception) -> Response:
    """Report an error of Starlette's router in the same form as every other error of the path."""
    assert isinstance(error, HTTPException)
    code, text = _ROUTER_ERRORS.get(error.status_code, ("refused", error.detail))
    report = find_error_shape(local_path(request.scope))
    response = report(DoorError(error.status_code, code, text), request.state.request_id)
    response.headers.update(error.headers or {})
    return response


_ROUTER_ERRORS = {
    404: ("not_found", "there is nothing at this address"),
    405: ("wrong_verb", "this address does not support this method"),
}
