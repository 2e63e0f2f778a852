"""The Ollama chat dialect: pieces of a message, until one says that it is done."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.events import DeltaEvent
from headrace.outcome import END_TURN, MAX_TOKENS, other_reason
from headrace.usage import Usage
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.error import is_error, parse_error
from headrace.wire.framing.frame import Frame
from headrace.wire.json.number import parse_count
from headrace.wire.json.payload import REFUSED, decoder_of, encode_json
from headrace.wire.json.value import as_text
from headrace.wire.ledger import Ledger, Output
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits
from headrace.wire.think_tags import TAGS, ThinkTags

_NOT_KEPT = frozenset({"model", "message", "response", "thinking", "done", "done_reason", "error"})


class WireFunction(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Any = None


class WireCall(msgspec.Struct, gc=False):
    id: str | None = None
    function: WireFunction | None = None


class WireMessage(msgspec.Struct, gc=False):
    role: str | None = None
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[WireCall] | None = None
    images: list[str] | None = None


class WireLine(msgspec.Struct, gc=False):
    model: str | None = None
    message: WireMessage | None = None
    response: str | None = None
    thinking: str | None = None
    done: bool | None = None
    done_reason: str | None = None
    prompt_eval_count: Any = None
    eval_count: Any = None
    error: Any = None


class PlainMessage(msgspec.Struct, gc=False):
    content: str = ""
    thinking: str = ""
    tool_calls: None = None
    images: None = None


class PlainLine(msgspec.Struct, gc=False):
    """A line with nothing besides text, like nearly all."""

    message: PlainMessage
    done: bool = False
    error: None = None


class OllamaDialect(JSONDialect[WireLine]):
    """Reads the lines of an Ollama chat. Calls come complete, as objects, often without ids."""

    name = "ollama"
    deltas = frozenset({"content", "thinking", "response"})

    def __init__(self, ledger: Ledger, *, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        super().__init__(ledger, WireLine, limits)
        self._decode_plain = decoder_of(PlainLine)
        self._message: Output | None = None
        self._tags: ThinkTags | None = ThinkTags(TAGS)

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be a line of this dialect."""
        is_answer = isinstance(payload.get("message"), dict) or "response" in payload
        return isinstance(payload.get("done"), bool) and is_answer

    def feed(self, frame: Frame) -> None:
        """Read one line."""
        output, data = self._message, frame.data
        if output is None or self._tags is not None or len(data) > self._shallow_bytes:
            self._feed_slow(frame)
            return
        try:
            line = self._decode_plain(data)
        except REFUSED:
            self._feed_slow(frame)
            return
        if line.done:
            self._feed_slow(frame)
            return
        message = line.message
        if message.thinking:
            output.add_reasoning(message.thinking)
        if message.content:
            output.add_text(message.content)

    def read_delta(self, data: bytes, event: str) -> DeltaEvent | None:
        """Return the event of a line with one more piece of text or reasoning."""
        output = self._message
        if output is None or self._tags is not None or len(data) > self._shallow_bytes:
            return None
        try:
            line = self._decode_plain(data)
        except REFUSED:
            return None
        text, thought = line.message.content, line.message.thinking
        if line.done or (text and thought):
            return None
        return output.extend_text(text) if text else output.extend_reasoning(thought)

    def _feed_slow(self, frame: Frame) -> None:
        """Read a line that may hold anything."""
        line = self._decode_payload(frame)
        if line is None:
            return
        if line.message is None and line.done is None and self._fail_if_error(frame):
            return
        output = self._message or self._begin(line)
        if line.message is not None:
            self._add_message(output, line.message)
        elif line.response or line.thinking:
            # The older endpoint for completions has its text beside `done`.
            self._add_message(output, WireMessage(content=line.response, thinking=line.thinking))
        if is_error(line.error):
            self.fail(parse_error(line.error))
        elif line.done:
            self._finish(output, line, frame)

    def _add_message(self, output: Output, message: WireMessage) -> None:
        if message.thinking:
            self._release()
            output.add_reasoning(message.thinking)
        if message.content:
            self._add_text(output, message.content)
        if message.images or message.tool_calls:
            self._release()
        for image in message.images or ():
            output.add_media("image", data=image)
        for call in message.tool_calls or ():
            self._add_call(output, call)

    def _begin(self, line: WireLine) -> Output:
        self.ledger.start(model=line.model)
        role = line.message.role if line.message else None
        self._message = self.ledger.output(0, role or "assistant")
        return self._message

    def _add_text(self, output: Output, text: str) -> None:
        """Add text. Older servers leave the tags of reasoning in it."""
        if self._tags is None:
            output.add_text(text)
            return
        for is_reasoning, piece in self._tags.feed(text):
            output.add_reasoning(piece) if is_reasoning else output.add_text(piece)
        if self._tags.is_done:
            self._tags = None

    def _release(self) -> None:
        if self._tags is not None:
            for is_reasoning, piece in self._tags.close():
                output = self.ledger.output(0)
                output.add_reasoning(piece) if is_reasoning else output.add_text(piece)
            self._tags = None

    def _add_call(self, output: Output, entry: WireCall) -> None:
        said = entry.function or WireFunction()
        call = output.add_call(call_id=entry.id, name=said.name)
        if said.arguments is None or isinstance(said.arguments, str):
            output.add_args(call, said.arguments or "")
        else:
            output.add_args(call, encode_json(said.arguments))
        output.end_call(call)

    def _finish(self, output: Output, line: WireLine, frame: Frame) -> None:
        self.ledger.report(
            Usage(
                input_tokens=parse_count(line.prompt_eval_count),
                output_tokens=parse_count(line.eval_count),
            )
        )
        for name, value in self._decode_all_fields(frame).items():
            if name not in _NOT_KEPT and value is not None:
                self.ledger.note(name, value)
        word = as_text(line.done_reason)
        # Servers before 0.1.40 said only that they were done.
        known = {None: END_TURN, "stop": END_TURN, "length": MAX_TOKENS}
        output.finish(known.get(word) or other_reason(word or ""), word)
        self._end(has_terminator=True)
