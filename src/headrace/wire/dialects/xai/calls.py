"""The calls of an xAI turn, known by their ids across all its outputs.

xAI reports a call in the output that makes it, and again in the output that has its result.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from headrace.events import Executor
from headrace.wire.call_arguments import MalformedArguments, parse_arguments
from headrace.wire.dialects.xai.chunk import WireCall
from headrace.wire.json.value import as_list, as_object
from headrace.wire.ledger import Call, Output

_CLIENT_TYPES = (None, "TOOL_CALL_TYPE_INVALID", "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL")
_ENDS = {
    "TOOL_CALL_STATUS_COMPLETED": "completed",
    "TOOL_CALL_STATUS_INCOMPLETE": "incomplete",
    "TOOL_CALL_STATUS_FAILED": "failed",
}


def get_end_status(entry: WireCall) -> str | None:
    """Return how a call that the provider runs ended, or None while it runs. A call with an error
    message has failed."""
    return _ENDS.get(entry.status or "") or ("failed" if entry.error_message else None)


@dataclass(eq=False)
class _KnownCall:
    """A call, and the output that it belongs to."""

    call: Call
    output: Output
    status: str | None = None


class XAICalls:
    """States what the entries of `tool_calls` say. With `is_shared`, the outputs are steps of one
    turn; otherwise each candidate has its own calls."""

    def __init__(self, max_depth: int) -> None:
        self.is_shared = True
        self._max_depth = max_depth
        self._known: dict[Hashable, _KnownCall] = {}
        self._last: dict[int, _KnownCall] = {}

    def feed(self, output: Output, entry: WireCall) -> str | None:
        """Take one entry; return the id of the call in this turn, or None if the entry names no
        call."""
        said = entry.function
        name = said.name if said is not None else None
        known = self._find(output, entry.id, name)
        if known is not None:
            known.output.fill_in_call(known.call, name=name)
        elif output.role == "tool" and not (entry.id or name):
            return None
        else:
            known = self._begin(output, entry, name)
        self._last[output.number] = known
        if said is not None and said.arguments:
            self._add_args(known, said.arguments)
        if known.call.executor == "provider":
            self._end(known, entry)
        return known.call.call_id or ""

    def _find(self, output: Output, call_id: str | None, name: str | None) -> _KnownCall | None:
        if call_id:
            return self._known.get(self._make_key(output, call_id))
        # Without an id a name begins a call, and anything else goes on with the last one.
        return None if name else self._last.get(output.number)

    def _make_key(self, output: Output, call_id: str) -> Hashable:
        return call_id if self.is_shared else (output.number, call_id)

    def _begin(self, output: Output, entry: WireCall, name: str | None) -> _KnownCall:
        executor: Executor = "client" if entry.type in _CLIENT_TYPES else "provider"
        told = {"type": _parse_tool_type(entry.type or "")} if executor == "provider" else None
        call = output.add_call(call_id=entry.id, name=name, executor=executor, provider_data=told)
        known = _KnownCall(call, output)
        if entry.id:
            self._known[self._make_key(output, entry.id)] = known
        return known

    def _add_args(self, known: _KnownCall, written: str) -> None:
        """Append arguments, or recognize a snapshot that repeats all of them. A snapshot is
        compared only if it is long enough, so that pieces stay cheap."""
        call = known.call
        if call.executor == "provider" and (call.is_ended or call.state == "closed"):
            # Told once more beside the result: nothing but the status is news.
            return
        is_snapshot = len(written) >= call.size and written.startswith(call.raw)
        if (call.state == "closed" or not is_snapshot) and self._is_repeated(call, written):
            return
        known.output.add_args(call, written[call.size :] if is_snapshot else written)

    def _is_repeated(self, call: Call, written: str) -> bool:
        """Return whether this repeats what came before: a shorter snapshot of a finished call, or
        complete arguments with other spacing."""
        is_whole = call.is_whole(self._max_depth)
        if call.executor == "provider":
            return is_whole
        if call.state == "closed" and call.raw.startswith(written):
            return True
        return (is_whole or call.state == "closed") and self._is_equal(written, call.args)

    def _is_equal(self, written: str, args: Any) -> bool:
        try:
            return _is_same_json(parse_arguments(written, self._max_depth), args)
        except MalformedArguments:
            return False

    def _end(self, known: _KnownCall, entry: WireCall) -> None:
        status = get_end_status(entry)
        if status is None or status == known.status:
            return
        known.status = status
        known.output.end_call(known.call)
        known.output.add_activity(known.call, status, entry.error_message or None)


def _is_same_json(one: object, other: object) -> bool:
    """Return whether two values are the same JSON; in Python `1`, `1.0` and `True` are equal."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is dict:
        mine, yours = as_object(one), as_object(other)
        return mine.keys() == yours.keys() and all(
            _is_same_json(mine[key], yours[key]) for key in mine
        )
    if kind is list:
        rows, others = as_list(one), as_list(other)
        return len(rows) == len(others) and all(map(_is_same_json, rows, others))
    return bool(one == other)


def _parse_tool_type(word: str) -> str:
    """Return `x_search` for `TOOL_CALL_TYPE_X_SEARCH_TOOL`."""
    return word.removeprefix("TOOL_CALL_TYPE_").removesuffix("_TOOL").lower()
