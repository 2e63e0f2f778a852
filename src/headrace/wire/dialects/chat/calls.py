"""Finds the call that an entry of `tool_calls` belongs to.

OpenAI gives every call an index, and its id and name once. Others leave out the index or the id,
send every call under index 0, or repeat id and name with every piece.
"""

from __future__ import annotations

from headrace.events import CallInput, DeltaEvent
from headrace.wire.dialects.chat.chunk import WireCall, WireFunction
from headrace.wire.json.payload import encode_json
from headrace.wire.json.value import as_object, as_text
from headrace.wire.ledger import Call, Output

# GLM tells of its own search among the calls.
_RUN_BY_PROVIDER = frozenset({"web_search", "retrieval"})
_LEGACY = WireCall(index=None, id=None, type="function")


class ChatCalls:
    """The calls of one choice."""

    __slots__ = ("_args", "_by_id", "_by_index", "_last", "_legacy", "_max_depth", "_output")

    def __init__(self, output: Output, max_depth: int) -> None:
        self._output = output
        self._args = output.add_args
        self._max_depth = max_depth
        self._by_index: dict[int, Call] = {}
        self._by_id: dict[str, Call] = {}
        self._last: Call | None = None
        self._legacy: Call | None = None

    def feed(self, entry: WireCall) -> None:
        """Take one entry of `tool_calls`."""
        if entry.id is None and entry.index is not None and entry.function is not None:
            # As OpenAI does it: nothing but more arguments, and the index says whose.
            call, more = self._by_index.get(entry.index), entry.function
            if call is not None and not more.name and isinstance(more.arguments, str):
                self._last = call
                self._args(call, more.arguments)
                return
        self._begin_or_continue(entry)

    def read_delta(self, entry: WireCall) -> DeltaEvent | None:
        """Return the event of an entry that only continues an open call, or None; see
        `JSONDialect.read_delta`."""
        index, more = entry.index, entry.function
        if entry.id is not None or index is None or more is None or more.name:
            return None
        call = self._by_index.get(index)
        if call is None or not isinstance(more.arguments, str):
            return None
        event = self._output.extend_args(call, more.arguments)
        if event is not None:
            self._last = call
        return event

    def _begin_or_continue(self, entry: WireCall) -> None:
        if entry.type in _RUN_BY_PROVIDER:
            theirs = self._output.add_call(call_id=entry.id, name=entry.type, executor="provider")
            self._output.end_call(theirs)
            return
        said = entry.function or entry.custom or WireFunction()
        written = _to_json_text(said)
        call = self._find_call(entry, said.name, written)
        if call is None:
            is_custom = entry.custom is not None or entry.type == "custom"
            call = self._begin(entry, said.name, "text" if is_custom else "json")
        else:
            if said.name and _continues_name(call, entry.id, said.name):
                self._output.extend_call_name(call, said.name)
            self._output.fill_in_call(call, name=said.name, call_id=entry.id)
            self._seal(call, entry)
        self._last = call
        if entry.id:
            self._by_id.setdefault(entry.id, call)
        self._output.add_args(call, written)

    def _seal(self, call: Call, entry: WireCall) -> None:
        google: object = (entry.extra_content or {}).get("google")
        signature = as_text(as_object(google).get("thought_signature"))
        if signature:
            self._output.seal_call(call, "signature", signature)

    def feed_legacy(self, said: WireFunction) -> None:
        """Take a `function_call`: the one call of an older version of the format, without an id."""
        if self._legacy is None:
            self._legacy = self._begin(_LEGACY, said.name, "json")
        else:
            self._output.fill_in_call(self._legacy, name=said.name)
        self._output.add_args(self._legacy, _to_json_text(said))

    def _begin(self, entry: WireCall, name: str | None, input: CallInput) -> Call:
        extra = entry.extra_content
        call = self._output.add_call(
            call_id=entry.id,
            name=name,
            input=input,
            provider_data={"extra_content": extra} if extra else None,
        )
        if entry.index is not None:
            self._by_index[entry.index] = call
        return call

    def _find_call(self, entry: WireCall, name: str | None, written: str) -> Call | None:
        if entry.index is None:
            if entry.id:
                return self._by_id.get(entry.id)
            candidate = self._last
        else:
            candidate = self._by_index.get(entry.index)
        if candidate is None or not name:
            return candidate
        return None if self._is_another(candidate, entry.id, name, written) else candidate

    def _is_another(self, call: Call, id: str | None, name: str, written: str) -> bool:
        """Return whether an entry with a name, at the place of a known call, is a new call."""
        if id and call.wire_id:
            return id != call.wire_id
        if call.name is None:
            return False
        if name != call.name:
            return not _continues_name(call, id, name)
        return bool(written) and call.is_whole(self._max_depth)


def _continues_name(call: Call, id: str | None, name: str) -> bool:
    """Return whether an entry at the place of a call brings the next piece of its name: it has no
    id of its own, and no arguments have come yet."""
    return call.name not in (None, name) and not id and not call.size


def _to_json_text(said: WireFunction) -> str:
    """Return the arguments as text; some servers send the value itself."""
    if said.arguments is None or isinstance(said.arguments, str):
        return said.arguments or said.input or ""
    return encode_json(said.arguments)
