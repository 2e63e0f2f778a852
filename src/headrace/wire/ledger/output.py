"""One output: its open text or reasoning part, its calls, and its one end."""

from __future__ import annotations

from collections.abc import Hashable

from headrace.errors import LimitExceeded, WireError
from headrace.events import (
    CallInput,
    CitationAdded,
    Executor,
    JSONObject,
    OutputFinished,
    PartRestored,
    PartSealed,
    ReasoningDelta,
    ReasoningFinished,
    ReasoningKind,
    ReasoningStarted,
    SealKind,
    TextDelta,
    TextFinished,
    TextStarted,
    TurnEvent,
)
from headrace.outcome import CONTENT_FILTER, END_TURN, TOOL_USE, FinishReason
from headrace.wire.ledger.call import Call, CallQueue
from headrace.wire.ledger.counter import Counters
from headrace.wire.ledger.whole_part import WholeParts
from headrace.wire.limits import WireLimits

_NONE = object()
_CUT_SHORT = frozenset({"max_tokens", "context_full", "content_filter", "time_limit"})


class Output(WholeParts):
    """Takes the facts about one output, and appends events.

    `key` tells one block of text or reasoning from the next: text with the key of the open part is
    appended to it, any other key closes that part and opens a new one. `item_key` identifies the
    provider's item; parts that share it share their item number.
    """

    __slots__ = (
        "_calls", "_closed_chars", "_damaged", "_item_key", "_part", "_room", "_signature",
        "_text_key", "_thought_key", "add_activity", "add_args", "count_citation", "extend_args",
        "extend_call_name", "fill_in_call", "has_gap", "has_refusal", "has_unconfirmed_call",
        "is_finished", "last_reasoning_part", "last_text_part", "raw_reason", "reason", "role",
        "seal_call",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        role: str,
        events: list[TurnEvent],
        counters: Counters,
        limits: WireLimits,
    ) -> None:
        super().__init__(number, events, counters, limits)
        self.role = role
        self.reason: FinishReason | None = None
        self.raw_reason: str | None = None
        self.is_finished = False
        self.has_refusal = False
        self.has_gap = False
        self.has_unconfirmed_call = False
        # Reasoning parts that may have lost a piece, and the characters of all closed parts.
        self._damaged: set[int] = set()
        self._closed_chars = {"text": 0, "reasoning": 0}
        # The open text or reasoning part, -1 is none; the key of whichever it is.
        self._part = -1
        self._text_key: Hashable = _NONE
        self._thought_key: Hashable = _NONE
        self._item_key: Hashable = None
        self._room = 0
        self._signature: str | None = None
        self.last_reasoning_part: int | None = None
        self.last_text_part: int | None = None
        self._calls = CallQueue(number, events, counters, limits, self.close_prose)
        self.add_args = self._calls.add_args
        self.extend_args = self._calls.extend_args
        self.fill_in_call = self._calls.fill_in
        self.extend_call_name = self._calls.extend_name
        self.seal_call = self._calls.seal
        self.add_activity = self._calls.add_activity
        self.count_citation = counters.count_citation

    @property
    def chars(self) -> int:
        """Number of characters of text, reasoning and arguments so far."""
        open_chars = self._max_chars - self._room if self._part >= 0 else 0
        return sum(self._closed_chars.values()) + open_chars + self._calls.chars

    # -- text and reasoning

    def add_text(
        self,
        text: str,
        key: Hashable = None,
        item_key: Hashable = None,
        channel: str | None = None,
        is_refusal: bool = False,
        item_id: str | None = None,
    ) -> None:
        """Append text; empty text is ignored."""
        if not text:
            return
        if self._text_key is not key and self._text_key != key:
            self._open_text(key, item_key, channel, is_refusal, item_id)
        self._room -= len(text)
        if self._room < 0:
            raise LimitExceeded("max_part_chars", self._max_chars)
        self._append(TextDelta(self._part, text))

    def add_reasoning(
        self,
        text: str,
        key: Hashable = None,
        item_key: Hashable = None,
        kind: ReasoningKind = "raw",
        summary_index: int | None = None,
        item_id: str | None = None,
        provider_data: JSONObject | None = None,
    ) -> None:
        """Append reasoning; empty text is ignored."""
        if not text:
            return
        if self._thought_key is not key and self._thought_key != key:
            self.open_reasoning(key, item_key, kind, summary_index, item_id, provider_data)
        self._room -= len(text)
        if self._room < 0:
            raise LimitExceeded("max_part_chars", self._max_chars)
        self._append(ReasoningDelta(self._part, text))

    def extend_text(self, text: str | None, key: Hashable = None) -> TextDelta | None:
        """Append text to the open part with this key and return the event, which is not added to
        the events. Returns None and does nothing unless that is all that `add_text` would do."""
        if not text or (self._text_key is not key and self._text_key != key):
            return None
        room = self._room - len(text)
        if room < 0:
            return None
        self._room = room
        return TextDelta(self._part, text)

    def extend_reasoning(self, text: str | None, key: Hashable = None) -> ReasoningDelta | None:
        """Append reasoning to the open part with this key and return the event, which is not added
        to the events. Returns None and does nothing unless that is all that `add_reasoning` would
        do."""
        if not text or (self._thought_key is not key and self._thought_key != key):
            return None
        room = self._room - len(text)
        if room < 0:
            return None
        self._room = room
        return ReasoningDelta(self._part, text)

    def _open_text(
        self,
        key: Hashable,
        item_key: Hashable,
        channel: str | None,
        is_refusal: bool,
        item_id: str | None,
    ) -> None:
        self._open_prose(key, item_key, is_reasoning=False)
        self.last_text_part = self._part
        self.has_refusal = self.has_refusal or is_refusal
        place = self._assign_numbers(self._part, item_key, item_id)
        self._append(TextStarted(**place, channel=channel, is_refusal=is_refusal))

    def open_reasoning(
        self,
        key: Hashable = None,
        item_key: Hashable = None,
        kind: ReasoningKind = "raw",
        summary_index: int | None = None,
        item_id: str | None = None,
        provider_data: JSONObject | None = None,
    ) -> None:
        """Open a reasoning part that may stay empty because it has an id or a seal."""
        self._open_prose(key, item_key, is_reasoning=True)
        self.last_reasoning_part = self._part
        self._append(
            ReasoningStarted(
                **self._assign_numbers(self._part, item_key, item_id),
                kind=kind,
                summary_index=summary_index,
                provider_data=provider_data,
            )
        )

    def _open_prose(self, key: Hashable, item_key: Hashable, *, is_reasoning: bool) -> None:
        self._begin_part()
        self._calls.close_if_whole()
        self._part = self._counters.take_part()
        self._text_key = _NONE if is_reasoning else key
        self._thought_key = key if is_reasoning else _NONE
        self._item_key = item_key
        self._room = self._max_chars

    def add_signed_text(self, text: str, signature: str) -> None:
        """Add a text with its own signature, separate from its neighbors."""
        self._open_text(None, None, None, False, None)
        part = self._part
        self.add_text(text)
        self.close_prose()
        self.seal(part, "signature", signature)

    def add_signed_reasoning(self, text: str, signature: str, kind: ReasoningKind) -> None:
        """Add reasoning with its own signature, separate from its neighbors."""
        self.open_reasoning(None, None, kind)
        self.add_reasoning(text)
        self._signature = signature
        self.close_prose()

    def close_prose(self) -> None:
        """Close the open text or reasoning part, if there is one."""
        if self._part < 0:
            return
        chars = self._max_chars - self._room
        if self._thought_key is not _NONE:
            signature = None if self._part in self._damaged else self._signature
            self._append(ReasoningFinished(self._part, signature))
            self._closed_chars["reasoning"] += chars
        else:
            self._append(TextFinished(self._part))
            self._closed_chars["text"] += chars
        self._part = -1
        self._text_key = self._thought_key = _NONE
        self._signature = None

    def end_prose(self, key: Hashable) -> None:
        """Close the open part if it has this key."""
        if key in (self._text_key, self._thought_key):
            self.close_prose()

    def close_item(self, item_key: Hashable) -> None:
        """Close the open part if it belongs to this item."""
        if self._part >= 0 and self._item_key == item_key:
            self.close_prose()

    # -- frames that could not be read

    def mark_gap(self) -> None:
        """Note that a frame was skipped: what is open may have lost a piece."""
        self.has_gap = True
        if self._thought_key is not _NONE:
            self._damaged.add(self._part)
        self._calls.mark_gap()

    def restore(self, key: Hashable, text: str | None) -> None:
        """Take the whole text of the open part with this key. Does nothing unless a frame was
        skipped and the deltas do not add up to the text."""
        if not self.has_gap or not text or key not in (self._text_key, self._thought_key):
            return
        if len(text) > self._max_chars:
            raise LimitExceeded("max_part_chars", self._max_chars)
        if len(text) != self._max_chars - self._room:
            self._room = self._max_chars - len(text)
            self._append(PartRestored(self._part, text))
        self._damaged.discard(self._part)

    def confirm_empty(self, item_key: Hashable) -> None:
        """Take the notice that the open part of this item has no text, so that it has lost none."""
        if self._part >= 0 and self._item_key == item_key:
            self._damaged.discard(self._part)

    def restore_args(self, call: Call, text: str) -> None:
        """Take the whole arguments of a call. Does nothing unless a frame was skipped."""
        if self.has_gap:
            self._calls.restore(call, text)

    def is_confirmed_by(self, *, text_chars: int, reasoning_chars: int) -> bool:
        """Return whether these are the sizes of all text and reasoning of this output, and none of
        its calls has lost a piece. `has_unconfirmed_call` tells that the provider did not repeat
        the arguments of a call."""
        self.close_prose()
        sizes = {"text": text_chars, "reasoning": reasoning_chars}
        has_doubt = self._calls.has_damaged or self.has_unconfirmed_call
        return sizes == self._closed_chars and not has_doubt

    # -- seals and citations

    def sign(self, signature: str, key: Hashable, item_key: Hashable) -> None:
        """Sign a reasoning item: at the end of its part if that is open, by a late seal if it is
        closed, on an empty part if there was none."""
        part = self._part_of_item.get(item_key)
        if self._thought_key is not _NONE and part == self._part:
            self._signature = signature
        elif part is not None:
            self.seal(part, "signature", signature)
        else:
            self.open_reasoning(key, item_key)
            self._signature = signature

    def seal(self, part: int, kind: SealKind, value: str) -> None:
        """Seal a part, open or closed. Reasoning that lost a piece gets no seal: it would not be
        accepted."""
        if part not in self._damaged:
            self._append(PartSealed(part, kind, value))

    def cite(self, citation: CitationAdded) -> None:
        """Add a source for a part of this output."""
        self.count_citation()
        self._append(citation)

    # -- calls

    def add_call(
        self,
        *,
        call_id: str | None,
        name: str | None,
        executor: Executor = "client",
        input: CallInput = "json",
        item_key: Hashable = None,
        item_id: str | None = None,
        provider_data: JSONObject | None = None,
    ) -> Call:
        """Add a call. It starts now, or when the calls before it have ended."""
        self.raise_if_finished()
        return self._calls.begin(
            Call(
                call_id=call_id,
                name=name,
                executor=executor,
                input=input,
                item_key=self._make_item_key(item_key),
                item_id=item_id,
                provider_data=provider_data,
            )
        )

    def end_call(self, call: Call) -> None:
        """End a call whose arguments are complete."""
        if not call.is_ended:
            self._calls.end(call)

    # -- the end

    def finish(
        self, reason: FinishReason | None, raw_reason: str | None, *, replaces: bool = False
    ) -> None:
        """Set why the output ended. The first reason counts, unless this one `replaces` it."""
        if reason is not None and (replaces or self.reason is None):
            self.reason = reason
            self.raw_reason = raw_reason

    @property
    def ends_turn(self) -> bool:
        """Whether the reason ends the turn. After calls that only the provider runs, another output
        follows."""
        calls = self._calls
        goes_on = calls.has_provider_calls and not calls.has_client_calls
        return self.reason is not None and not (self.reason == TOOL_USE and goes_on)

    def close(self, *, is_cut: bool) -> None:
        """Close every part, then the output. `is_cut` tells whether the stream broke off."""
        if self.is_finished:
            return
        is_short = self.reason is not None and self.reason.word in _CUT_SHORT
        self.close_prose()
        self._calls.close_all(is_cut=is_cut or is_short)
        self.reason = self.real_reason
        self.is_finished = True
        self._append(OutputFinished(self.number, self.reason, self.raw_reason))

    @property
    def real_reason(self) -> FinishReason | None:
        """The reason in the light of the content: many providers say `stop` after a tool call."""
        if self.reason != END_TURN:
            return self.reason
        if self._calls.has_client_calls:
            return TOOL_USE
        return CONTENT_FILTER if self.has_refusal else END_TURN

    def _begin_part(self) -> None:
        self.raise_if_finished()
        self.close_prose()

    def raise_if_finished(self) -> None:
        """Raise `WireError` if the output has ended."""
        if self.is_finished:
            raise WireError(f"output {self.number} continued after its end")
