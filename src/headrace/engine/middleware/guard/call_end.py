"""The end of a rewritten call: the arguments that are logged, run and sent back must agree."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace import events as ev
from headrace.events import Event
from headrace.wire.call_arguments import parse_arguments
from headrace.wire.limits import DEFAULT_WIRE_LIMITS

END_LEFT_OUT = "middleware left out the end of the call"
# What msgspec raises for a value that is not JSON; `MalformedArguments` is a ValueError.
_NOT_JSON = (TypeError, ValueError, OverflowError, RecursionError)


def legal_call_end(
    event: ev.ToolCallFinished | ev.ToolCallMalformed,
    start: ev.ToolCallStarted,
    number: int,
    original: Event,
) -> ev.ToolCallFinished | ev.ToolCallMalformed:
    """Return the end of a call as it may be written: with the id and name of its start, and
    with `raw` and `args` that say the same. Malformed if the arguments are not JSON."""
    identity: dict[str, Any] = {"part": number, "call_id": start.call_id, "name": start.name}
    end = event
    if any(getattr(event, name) != value for name, value in identity.items()):
        end = msgspec.structs.replace(event, **identity)
    if event is original or isinstance(end, ev.ToolCallMalformed):
        return end
    model_end = original if isinstance(original, ev.ToolCallFinished) else None
    if model_end is not None and model_end.part != event.part:
        model_end = None
    try:
        reconcile = _reconcile_text if start.input == "text" else _reconcile_json
        raw, args = reconcile(end, model_end)
    except _NOT_JSON as error:
        why = f"the rewritten arguments are not JSON: {error}"
        return ev.ToolCallMalformed(**identity, raw=end.raw, error=why)
    return msgspec.structs.replace(end, raw=raw, args=args)


def _reconcile_json(
    end: ev.ToolCallFinished, model_end: ev.ToolCallFinished | None
) -> tuple[str, Any]:
    """If only `raw` was changed, it decides; otherwise `args` does."""
    args = msgspec.json.encode(end.args)
    is_raw_changed = (
        model_end is not None
        and end.raw != model_end.raw
        and args == msgspec.json.encode(model_end.args)
    )
    if is_raw_changed:
        return end.raw, parse_arguments(end.raw, DEFAULT_WIRE_LIMITS.max_depth)
    return end.raw if _is_json_of(end.raw, args) else args.decode(), msgspec.json.decode(args)


def _is_json_of(raw: str, args: bytes) -> bool:
    try:
        return msgspec.json.encode(parse_arguments(raw, DEFAULT_WIRE_LIMITS.max_depth)) == args
    except _NOT_JSON:
        return False


def _reconcile_text(
    end: ev.ToolCallFinished, model_end: ev.ToolCallFinished | None
) -> tuple[str, Any]:
    if model_end is not None and end.raw != model_end.raw and end.args == model_end.args:
        return end.raw, end.raw
    args = end.args if isinstance(end.args, str) else msgspec.json.encode(end.args).decode()
    args.encode()  # raises for lone surrogates
    return args, args
