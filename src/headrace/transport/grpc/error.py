"""From a status of gRPC to our failures."""

# It has no types that a strict check could follow.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import grpc.aio
import msgspec

from headrace.errors import RequestFailed
from headrace.outcome import ErrorInfo
from headrace.transport.call_secrets import Secrets, address_of
from headrace.transport.error_response import HINTS, retry_after_of
from headrace.transport.transport import HTTPCall
from headrace.wire.error import parse_error

# The word that stands for a status in `wire.failure`, where that is not its own name.
_WORDS = {
    "OUT_OF_RANGE": "invalid_argument",
    "ALREADY_EXISTS": "invalid_argument",
    "UNIMPLEMENTED": "invalid_argument",
    "ABORTED": "unavailable",
    "UNKNOWN": "internal",
    "DATA_LOSS": "internal",
}


def failure_of(error: grpc.aio.AioRpcError, secrets: Secrets) -> ErrorInfo:
    """What a status means, without the key."""
    name = error.code().name
    details = secrets.hide(error.details() or "")
    told = as_headers(error.trailing_metadata())
    if name == "CANCELLED":
        failure = ErrorInfo("network", details or "the call was cancelled", retryable=True)
    elif name == "RESOURCE_EXHAUSTED" and "larger than max" in details:
        # Our own limit, which gRPC tells in the same words as the peer's.
        failure = ErrorInfo("protocol", details)
    else:
        word = _WORDS.get(name, name.lower())
        failure = parse_error({"code": word, "message": details or f"gRPC status {name}"})
    return msgspec.structs.replace(
        failure,
        message=secrets.clean(f"gRPC {name}: {failure.message}"),
        code=name,
        retry_after_s=retry_after_of(told),
    )


def unreached(failure: ErrorInfo) -> ErrorInfo:
    """Nobody was there to say so: it is the network's."""
    if failure.code != "UNAVAILABLE":
        return failure
    message = f"{failure.message.rstrip('.')}. Is the server running?"
    # A certificate that is not trusted now will not be the next time.
    retryable = "CERTIFICATE" not in failure.message.upper()
    return msgspec.structs.replace(
        failure, category="network", message=message, retryable=retryable
    )


def refused(call: HTTPCall, failure: ErrorInfo, request_id: str | None) -> RequestFailed:
    """No stream began: what is raised."""
    secrets = Secrets(call)
    told, hint = secrets.clean(failure.message), HINTS.get(failure.category)
    told = f"{told.rstrip('.')}. {hint}" if hint else told
    return RequestFailed(
        # The address is clean already, and the method's name looks like one of xAI's keys.
        f"{secrets.hide(address_of(call.url))}: {told}",
        category=failure.category,
        code=failure.code,
        retryable=failure.retryable,
        retry_after_s=failure.retry_after_s,
        request_id=request_id,
    )


def as_headers(metadata: Any) -> dict[str, str]:
    """Metadata that is text; keys come in lower case."""
    return {name: value for name, value in metadata or () if isinstance(value, str)}
