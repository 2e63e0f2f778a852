"""Converts gRPC statuses to errors."""

# This package has no types for a strict check.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import grpc.aio
import msgspec

from headrace.errors import RequestFailed
from headrace.outcome import ErrorInfo
from headrace.secrets.known import KnownSecrets
from headrace.transport.call_secrets import address_of, secrets_of
from headrace.transport.error_response import HINTS, retry_after_of
from headrace.transport.transport import HTTPCall
from headrace.wire.error import parse_error

# The error word for a status in `wire.error`, if it differs from its name.
_WORDS = {
    "OUT_OF_RANGE": "invalid_argument",
    "ALREADY_EXISTS": "invalid_argument",
    "UNIMPLEMENTED": "invalid_argument",
    "ABORTED": "unavailable",
    "UNKNOWN": "internal",
    "DATA_LOSS": "internal",
}


def error_from_status(error: grpc.aio.AioRpcError, secrets: KnownSecrets) -> ErrorInfo:
    """Return the error for a status, without the key."""
    name = error.code().name
    details = secrets.hide(error.details() or "")
    told = as_headers(error.trailing_metadata())
    if name == "CANCELLED":
        failure = ErrorInfo("network", details or "the call was cancelled", retryable=True)
    elif name == "RESOURCE_EXHAUSTED" and "larger than max" in details:
        # Our own limit, which gRPC reports in the same words as the peer's.
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


def as_network_error(failure: ErrorInfo) -> ErrorInfo:
    """Return the network error for a server that could not be reached."""
    if failure.code != "UNAVAILABLE":
        return failure
    message = f"{failure.message.rstrip('.')}. Is the server running?"
    # A certificate that is not trusted now will not be trusted next time.
    retryable = "CERTIFICATE" not in failure.message.upper()
    return msgspec.structs.replace(
        failure, category="network", message=message, retryable=retryable
    )


def refusal(call: HTTPCall, failure: ErrorInfo, request_id: str | None) -> RequestFailed:
    """Return the exception for a call without a stream."""
    secrets = secrets_of(call)
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
    """Return the metadata values that are text; keys are lowercase."""
    return {name: value for name, value in metadata or () if isinstance(value, str)}
