"""The calls of a turn, known by their ids through all its outputs: xAI tells of one in the
output that makes it, and again in the one that has its result."""

from __future__ import annotations

from collections.abc import Hashable
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
    """How a provider-run call ended; None while it runs. One that tells an error has failed,
    whatever else it says."""
    return _ENDS.get(entry.status or "") or ("failed" if entry.error_message else None)


class _KnownCall:
    """A call, and the output that it belongs to."""

    def __init__(self, call: Call, output: Output) -> None:
        self.call = call
        self.output = output
        self.status: str | None = None


class XAICalls:
    """States what the entries of `tool_calls` say. `is_shared` where the outputs are steps
    of one turn; the calls of a candidate are its own."""

    def __init__(self, max_depth: int) -> None:
        self.is_shared = True
        self._max_depth = max_depth
        self._known: dict[Hashable, _KnownCall] = {}
        self._last: dict[int, _KnownCall] = {}

    def feed(self, output: Output, entry: WireCall) -> str | None:
        """One entry; returns the id under which the call goes in this turn. None where it
        names no call: beside a result that is no call of its own."""
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
            self._args(known, said.arguments)
        if known.call.executor == "provider":
            self._end(known, entry)
        return known.call.call_id or ""

    def _find(self, output: Output, call_id: str | None, name: str | None) -> _KnownCall | None:
        if call_id:
            return self._known.get(self._key(output, call_id))
        # Without an id a name begins a call, and anything else goes on with the last one.
        return None if name else self._last.get(output.number)

    def _key(self, output: Output, call_id: str) -> Hashable:
        return call_id if self.is_shared else (output.number, call_id)

    def _begin(self, output: Output, entry: WireCall, name: str | None) -> _KnownCall:
        executor: Executor = "client" if entry.type in _CLIENT_TYPES else "provider"
        told = {"type": _parse_tool_type(entry.type or "")} if executor == "provider" else None
        call = output.add_call(call_id=entry.id, name=name, executor=executor, provider_data=told)
        known = _KnownCall(call, output)
        if entry.id:
            self._known[self._key(output, entry.id)] = known
        return known

    def _args(self, known: _KnownCall, written: str) -> None:
        """More arguments, or all of them once more: a snapshot begins with what is there.
        It is only looked at where it is long enough, so that pieces cost what they weigh."""
        call = known.call
        if call.executor == "provider" and (call.is_ended or call.state == "closed"):
            # Told once more beside the result: nothing but the status is news.
            return
        is_snapshot = len(written) >= call.size and written.startswith(call.raw)
        if (call.state == "closed" or not is_snapshot) and self._repeats(call, written):
            return
        known.output.add_args(call, written[call.size :] if is_snapshot else written)

    def _repeats(self, call: Call, written: str) -> bool:
        """Whether this is what was said, in other words: a shorter snapshot of a call that has
        ended, or whole arguments that another hand has spaced."""
        is_whole = call.is_whole(self._max_depth)
        if call.executor == "provider":
            return is_whole
        if call.state == "closed" and call.raw.startswith(written):
            return True
        return (is_whole or call.state == "closed") and self._says(written, call.args)

    def _says(self, written: str, args: Any) -> bool:
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
    """Whether two values are the same JSON: for Python `1`, `1.0` and `True` are equal."""
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
    """`x_search` of `TOOL_CALL_TYPE_X_SEARCH_TOOL`."""
    return word.removeprefix("TOOL_CALL_TYPE_").removesuffix("_TOOL").lower()
