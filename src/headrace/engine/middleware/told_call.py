"""The end of a call that was rewritten: what is logged must be what runs and is replayed."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace import events as ev
from headrace.events import Event
from headrace.wire.call_arguments import parse_arguments
from headrace.wire.limits import DEFAULT_WIRE_LIMITS

CALL_TAKEN_OUT = "middleware left out the end of the call"
# What msgspec raises for a value that is no JSON; `MalformedArguments` is a ValueError.
_NOT_JSON = (TypeError, ValueError, OverflowError, RecursionError)


def told_call(
    event: ev.ToolCallFinished | ev.ToolCallMalformed,
    start: ev.ToolCallStarted,
    number: int,
    original: Event,
) -> ev.ToolCallFinished | ev.ToolCallMalformed:
    """The end as it may be written: id and name are its start's; the arguments that run and
    those that are replayed say the same, or it is malformed."""
    if (event.part, event.call_id, event.name) != (number, start.call_id, start.name):
        place = {"part": number, "call_id": start.call_id, "name": start.name}
        told = msgspec.structs.replace(event, **place)
    else:
        told = event
    if event is original or isinstance(told, ev.ToolCallMalformed):
        return told
    said = original if isinstance(original, ev.ToolCallFinished) else None
    if said is not None and said.part != event.part:
        said = None
    try:
        agreed = _text_agreed if start.input == "text" else _json_agreed
        raw, args = agreed(told, said)
    except _NOT_JSON as error:
        return ev.ToolCallMalformed(
            part=number,
            call_id=start.call_id,
            name=start.name,
            raw=told.raw,
            error=f"the rewritten arguments are no JSON: {error}",
        )
    return msgspec.structs.replace(told, raw=raw, args=args)


def _json_agreed(told: ev.ToolCallFinished, said: ev.ToolCallFinished | None) -> tuple[str, Any]:
    """Where only the raw arguments were changed, they are what runs; else `args` are."""
    args = msgspec.json.encode(told.args)
    is_raw = said is not None and told.raw != said.raw and args == msgspec.json.encode(said.args)
    if is_raw:
        return told.raw, parse_arguments(told.raw, DEFAULT_WIRE_LIMITS.max_depth)
    raw = told.raw if _says(told.raw, args) else args.decode()
    return raw, msgspec.json.decode(args)


def _says(raw: str, args: bytes) -> bool:
    try:
        return msgspec.json.encode(parse_arguments(raw, DEFAULT_WIRE_LIMITS.max_depth)) == args
    except _NOT_JSON:
        return False


def _text_agreed(told: ev.ToolCallFinished, said: ev.ToolCallFinished | None) -> tuple[str, Any]:
    if said is not None and told.raw != said.raw and told.args == said.args:
        return told.raw, told.raw
    args = told.args if isinstance(told.args, str) else msgspec.json.encode(told.args).decode()
    args.encode()
    return args, args
