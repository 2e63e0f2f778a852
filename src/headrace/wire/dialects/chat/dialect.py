"""The Chat Completions dialect: `choices[].delta`, ended by `[DONE]`."""

from __future__ import annotations

from typing import Any

from headrace.events import CitationAdded, DeltaEvent
from headrace.outcome import ErrorInfo
from headrace.wire.dialects.chat.choice import Choice
from headrace.wire.dialects.chat.chunk import (
    PlainChunk,
    StrictChunk,
    WireChoice,
    WireChunk,
    WireHead,
)
from headrace.wire.dialects.chat.quirks import DEFAULT_QUIRKS, ChatQuirks
from headrace.wire.dialects.chat.unread import UnreadFields
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.error import find_error, is_error, parse_error
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import REFUSED, PayloadDecoder, check_depth, decoder_of
from headrace.wire.json.value import as_int, as_object, as_objects, as_text
from headrace.wire.ledger import Ledger
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits
from headrace.wire.openai_usage import parse_openai_usage

# Fields that events already have, and padding against traffic analysis.
_NOT_KEPT = frozenset(
    "id object model choices usage error service_tier obfuscation p citations search_results "
    "stream_options".split()
)
_NOT_KEPT_OF_CHOICE = frozenset(
    ["index", "delta", "message", "finish_reason", "usage", "logprobs", "text", "seed"]
)
# How many chunks of a stream may not be plain before the fast path is given up.
_PLAIN_TRIES = 64


class ChatDialect(JSONDialect[WireChunk]):
    """Reads the chunks of a chat stream."""

    name = "chat"
    decoder_options = ("quirks",)
    is_ended_by_done = True
    deltas = frozenset(
        "content text reasoning_content reasoning reasoning_text summary refusal arguments "
        "input".split()
    )

    def __init__(
        self,
        ledger: Ledger,
        *,
        quirks: ChatQuirks = DEFAULT_QUIRKS,
        limits: WireLimits = DEFAULT_WIRE_LIMITS,
    ) -> None:
        super().__init__(ledger, WireChunk, limits)
        self._quirks = quirks
        self._decode_head = PayloadDecoder(WireHead, limits.max_depth).decode
        self._choices: dict[int, Choice] = {}
        self._known_choice = self._choices.get
        self._is_introduced = False
        self._plain_tries = 0
        self._decode_plain = decoder_of(PlainChunk)
        self._decode_strict = decoder_of(StrictChunk)
        self._unread = UnreadFields()
        self._error: ErrorInfo | None = None
        self._model: str | None = None
        self._response_id: str | None = None
        self._provider: str | None = None
        self._cited: set[str] = set()
        self._last_citations: tuple[Any, Any] = (None, None)
        self._logprobs: dict[str, list[Any]] = {}

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be a chat chunk."""
        return isinstance(payload.get("choices"), list) or str(
            payload.get("object", "")
        ).startswith("chat.completion")

    def feed(self, frame: Frame) -> None:
        """Read one chunk, the terminator, or anything else a server sends."""
        if self._plain_tries and len(frame.data) <= self._shallow_bytes:
            try:
                plain = self._decode_plain(frame.data).choices
            except REFUSED:
                # Stop trying on a stream whose chunks are rarely plain.
                self._plain_tries -= 1
            else:
                if len(plain) == 1:
                    choice = self._known_choice(plain[0].index)
                    if choice is not None:
                        choice.feed_plain(plain[0].delta)
                        return
        self._feed_slow(frame)

    def read_delta(self, data: bytes, event: str) -> DeltaEvent | None:
        """Return the event of a chunk with one more piece of text, reasoning or arguments."""
        if not self._plain_tries or len(data) > self._shallow_bytes:
            return None
        try:
            plain = self._decode_plain(data).choices
        except REFUSED:
            self._plain_tries -= 1
            return None
        if len(plain) != 1:
            return None
        choice = self._known_choice(plain[0].index)
        return None if choice is None else choice.read_delta(plain[0].delta)

    def _decode_chunk(self, frame: Frame) -> WireChunk | None:
        """Decode a frame, and keep the fields of its deltas that are not read."""
        if self._unread.is_full:
            return self._decode_payload(frame)
        if len(frame.data) > self._shallow_bytes:
            check_depth(frame.data, self._max_depth)
        try:
            return self._decode_strict(frame.data)
        except REFUSED:
            pass
        chunk = self._decode_payload(frame)
        if chunk is not None and chunk.choices:
            self._unread.add(self._decode_all_fields(frame), len(frame.data))
        return chunk

    def _feed_slow(self, frame: Frame) -> None:
        chunk = self._decode_chunk(frame)
        if chunk is None:
            return
        choices = chunk.choices
        if not self._is_introduced:
            self._introduce(self._decode_head(frame.data), is_telling=bool(choices))
        if choices:
            ended: set[int] = set()
            for wire in choices:
                choice = self._known_choice(wire.index)
                if choice is None:
                    choice = self._begin(wire)
                choice.feed(wire)
                if wire.finish_reason or wire.usage or wire.logprobs or wire.error:
                    self._note_choice(wire, choice)
                    if wire.finish_reason:
                        ended.add(wire.index)
            if ended:
                self._note_end(self._decode_all_fields(frame), ended)
        else:
            self._handle_no_choices(frame, chunk)
        if (
            chunk.usage
            or chunk.citations
            or chunk.search_results
            or chunk.web_search
            or chunk.error
        ):
            self._handle_rare(frame, chunk)
        if self._error is not None:
            self.fail(self._error)

    def _release(self) -> None:
        self._introduce(WireHead(), is_telling=True)
        for choice in self._choices.values():
            choice.close()
        if self._logprobs:
            self.ledger.note("logprobs", self._logprobs)
        for name, value in self._unread.collect().items():
            self.ledger.note(name, value)

    def _introduce(self, head: WireHead, *, is_telling: bool) -> None:
        """Start the turn with the first chunk that has content. An empty chunk before it may name
        the model."""
        self._model = self._model or head.model
        self._response_id = self._response_id or head.id
        self._provider = self._provider or head.provider
        if is_telling:
            self._is_introduced = True
            self._plain_tries = _PLAIN_TRIES
            self.ledger.start(
                model=self._model, response_id=self._response_id, provider=self._provider
            )

    def _begin(self, wire: WireChoice) -> Choice:
        said = wire.delta or wire.message
        role = (said.role if said else None) or "assistant"
        output = self.ledger.output(wire.index, role)
        choice = Choice(output, self._quirks, self._max_depth)
        self._choices[wire.index] = choice
        return choice

    # -- outside the choices

    def _handle_no_choices(self, frame: Frame, chunk: WireChunk) -> None:
        payload = self._decode_all_fields(frame)
        if not is_error(chunk.error):
            is_marked = "error" in (frame.event, frame.field)
            self._error = parse_error(payload) if is_marked else find_error(payload)
        if self._error is not None:
            return
        if payload.get("type") == "ping":
            # A gateway in front of an Anthropic model passes on the keep-alives.
            return
        self._note(payload)
        self._handle_groq(as_object(payload.get("x_groq")))

    def _handle_rare(self, frame: Frame, chunk: WireChunk) -> None:
        if chunk.usage:
            self.ledger.report(parse_openai_usage(chunk.usage))
        if chunk.citations or chunk.search_results or chunk.web_search:
            self._cite([*(chunk.search_results or ()), *(chunk.web_search or ())], chunk.citations)
        if is_error(chunk.error):
            self._error = parse_error(self._decode_all_fields(frame))

    def _handle_groq(self, extra: dict[str, Any]) -> None:
        if as_object(extra.get("usage")):
            self.ledger.report(parse_openai_usage(as_object(extra.get("usage"))))
        if extra.get("error") and self._error is None:
            self._error = parse_error(extra["error"])

    def _cite(self, results: list[Any], urls: list[Any] | None) -> None:
        """Add sources of the whole response, which some providers repeat with every chunk."""
        if self._last_citations == (results, urls):
            return
        self._last_citations = (results, urls)
        for entry in [*results, *(urls or ())]:
            told = as_object(entry)
            url = as_text(entry) or as_text(told.get("url")) or as_text(told.get("link"))
            title = as_text(told.get("title"))
            if url and url not in self._cited:
                self._cited.add(url)
                self.ledger.cite(CitationAdded(source="url", ref=url, title=title, raw=entry))

    def _note_choice(self, wire: WireChoice, choice: Choice) -> None:
        """Read the rarely used fields of a choice: usage, log probabilities, and errors."""
        if wire.usage:
            self.ledger.report(parse_openai_usage(wire.usage))
        if wire.logprobs and self._quirks.keeps_logprobs:
            self._logprobs.setdefault(str(wire.index), []).append(wire.logprobs)
        # An error is reported after everything that came with it.
        error = choice.end(wire.finish_reason)
        if is_error(wire.error):
            error = parse_error(wire.error)
        self._error = error or self._error

    def _note_end(self, payload: dict[str, Any], ended: set[int]) -> None:
        self._note(payload)
        self._handle_groq(as_object(payload.get("x_groq")))
        for told in as_objects(payload.get("choices")):
            index = as_int(told.get("index", 0))
            if index in ended:
                self._note_beside(f"choice.{index}", told)

    def _note_beside(self, name: str, choice: dict[str, Any]) -> None:
        kept = {
            key: value
            for key, value in choice.items()
            if key not in _NOT_KEPT_OF_CHOICE and value not in (None, {}, [])
        }
        if kept:
            self.ledger.note(name, kept)

    def _note(self, payload: dict[str, Any]) -> None:
        self.ledger.service_tier = as_text(payload.get("service_tier")) or self.ledger.service_tier
        self.ledger.note_fields(payload, _NOT_KEPT)
