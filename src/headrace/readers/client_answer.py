"""Answers of clients to what a run waits for: approvals, forms, texts and results of calls."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from headrace.readers.incoming import InvalidRequest


class ClientAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one request for input. It names the request, or the call that needs it."""

    request_id: str | None = None
    call_id: str | None = None
    """The client's id of the call; see `headrace.projections.call_ids`."""
    value: Any = None
    """The value that was given. For an approval: a boolean, or an object with `approved`."""
    error: str | None = None
    """Why no value is given: the client's tool failed, or nobody wanted to answer."""


class Approval(msgspec.Struct, frozen=True):
    """The answer to a request for an approval."""

    is_approved: bool
    reason: str | None = None
    args: Any = None
    """Arguments that replace those of the call, or None to keep them."""


def read_approval(value: Any) -> Approval:
    """Return what the value of an answer says about an approval. Raises `InvalidRequest` if it does
    not say it explicitly."""
    if isinstance(value, bool):
        return Approval(value)
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    approved, reason = fields.get("approved"), fields.get("reason")
    if not isinstance(approved, bool):
        raise InvalidRequest('an approval is answered with {"approved": true} or false')
    return Approval(approved, None if reason is None else str(reason), fields.get("editedArgs"))
