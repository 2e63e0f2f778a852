"""Ollama chat: messages that grow, until one says that it is done."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import END_TURN, MAX_TOKENS, Usage, other
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.failure import failure_from
from headrace.wire.framing.frame import Frame
from headrace.wire.json_value import as_text
from headrace.wire.ledger import Ledger, Output
from headrace.wire.limits import DEFAULT_LIMITS, Limits
from headrace.wire.payload import REFUSED
from headrace.wire.think_tags import TAGS, ThinkTags
from headrace.wire.usage import count

_NOT_KEPT = frozenset({"model", "message", "done", "done_reason", "error"})


class WireFunction(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Any = None


class WireCall(msgspec.Struct, gc=False):
    id: str | None = None
    function: WireFunction | None = None


class WireMessage(msgspec.Struct, gc=False):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[WireCall] | None = None
    images: list[str] | None = None
    role: str | None = None


class WireLine(msgspec.Struct, gc=False):
    model: str | None = None
    message: WireMessage | None = None
    done: bool | None = None
    done_reason: str | None = None
    prompt_eval_count: Any = None
    eval_count: Any = None
    error: Any = None


class OllamaDialect(JSONDialect[WireLine]):
    """Reads the lines of an Ollama chat. Calls come whole, as objects, often without ids."""

    name = "ollama"

    def __init__(self, ledger: Ledger, *, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(ledger, WireLine, limits)
        self._message: Output | None = None
        self._tags: ThinkTags | None = ThinkTags(TAGS)

    @staticmethod
    def recognises(payload: dict[str, Any]) -> bool:
        """Whether a payload can only be a line of this grammar."""
        return isinstance(payload.get("done"), bool) and isinstance(payload.get("message"), dict)

    def feed(self, frame: Frame) -> None:
        """Read one line."""
        data = frame.data
        try:
            is_shallow = len(data) <= self._shallow_bytes
            line = self._decode_shallow(data) if is_shallow else self._payload(frame)
        except REFUSED:
            line = self._payload(frame)
        if line is None:
            return
        output, message = self._message, line.message
        if output is None:
            output = self._begin(line)
        if message is not None:
            if message.thinking:
                if self._tags is not None:
                    self._release()
                output.reasoning(message.thinking)
            if message.content:
                if self._tags is None:
                    output.text(message.content)
                else:
                    self._text(output, self._tags, message.content)
            if message.images or message.tool_calls:
                self._seldom(output, message)
        if line.error:
            self.fail(failure_from(line.error))
        elif line.done:
            self._done(output, line, frame)

    def _begin(self, line: WireLine) -> Output:
        self.ledger.start(model=line.model)
        role = line.message.role if line.message else None
        self._message = self.ledger.output(0, role or "assistant")
        return self._message

    def _seldom(self, output: Output, message: WireMessage) -> None:
        self._release()
        for image in message.images or ():
            output.media("image", data=image)
        for call in message.tool_calls or ():
            self._call(output, call)

    def _text(self, output: Output, tags: ThinkTags, text: str) -> None:
        """Older servers leave the tags of reasoning in the text."""
        for is_reasoning, piece in tags.feed(text):
            output.reasoning(piece) if is_reasoning else output.text(piece)
        if tags.is_done:
            self._tags = None

    def _release(self) -> None:
        if self._tags is not None:
            for is_reasoning, piece in self._tags.close():
                output = self.ledger.output(0)
                output.reasoning(piece) if is_reasoning else output.text(piece)
            self._tags = None

    def _call(self, output: Output, entry: WireCall) -> None:
        said = entry.function or WireFunction()
        call = output.call(call_id=entry.id, name=said.name)
        if said.arguments is None or isinstance(said.arguments, str):
            output.args(call, said.arguments or "")
        else:
            output.args(call, msgspec.json.encode(said.arguments).decode())
        output.end_call(call)

    def _done(self, output: Output, line: WireLine, frame: Frame) -> None:
        self.ledger.report(
            Usage(input_tokens=count(line.prompt_eval_count), output_tokens=count(line.eval_count))
        )
        for name, value in self._whole(frame).items():
            if name not in _NOT_KEPT and value is not None:
                self.ledger.note(name, value)
        word = as_text(line.done_reason)
        # Servers before 0.1.40 said only that they were done.
        known = {None: END_TURN, "stop": END_TURN, "length": MAX_TOKENS}
        output.finish(known.get(word) or other(word or ""), word)
        self._end(has_terminator=True)
