"""Options of the protocol that clients can set in the address of a request."""

from __future__ import annotations

from typing import Any

from starlette.requests import HTTPConnection

from headrace.projections.registry import find_protocol
from headrace.server.http_error import DoorError


def parse_view(request: HTTPConnection) -> dict[str, Any]:
    """Return the options of the query. Raises an `HTTPError` of 400 for a wrong value."""
    found: dict[str, Any] = {}
    for option in find_protocol("openai-responses").options:
        text = request.query_params.get(option.name)
        if text is None:
            continue
        try:
            found[option.name] = option.parse(text)
        except ValueError as error:
            raise DoorError(400, "invalid_request", str(error), param=option.name) from None
    return found
