"""The decoder: bytes of one turn in, turn events out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import LimitExceeded, UsageError, WireError
from headrace.events import OutputsKind, Record, TurnEvent
from headrace.messages import Message, fold
from headrace.outcome import ErrorInfo, FinishReason
from headrace.usage import Usage
from headrace.wire.detection import detect, dialect_of_framing
from headrace.wire.dialects import load_dialect
from headrace.wire.dialects.chat import DEFAULT_QUIRKS, ChatQuirks
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.framing import LINE_FRAMINGS, create_framing
from headrace.wire.framing.frame import Frame
from headrace.wire.framing.splitter import CR, LF
from headrace.wire.ledger import Ledger
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

# A stream that has not said what it speaks by then is taken for the commonest grammar.
_MAX_UNDECIDED_FRAMES = 16
_FALLBACK_DIALECT = "chat"
# Reads so small that framing each costs more than joining them first, and how much is
# joined at most.
_TINY_BYTES = 64
_MAX_JOINED_BYTES = 64 * 1024


class Decoder:
    """Framing, dialect and ledger of one turn.

    Feed it reads of any length and `close()` it when the bytes end: both return the
    events that have become known. Nothing raises for what a peer sends: whatever breaks
    ends the turn with one `TurnFailed`. Frames after the terminal event are counted in
    `ignored_frames`, and nothing comes of them.

    `dialect` None is detected from the first frames. `outputs` says what output numbers
    mean, candidates or an agent's successive steps; None leaves it to the dialect.
    `first_item` and `first_part` go on where the last turn of a run stopped (`next_item`,
    `next_part`). `quirks` are for chat streams; xAI's heed `keeps_logprobs`. Without
    `keeps_message` nothing is kept of the events that were handed over, and `message`
    cannot be asked for.
    """

    def __init__(  # noqa: PLR0913 - each is one fact about the stream
        self,
        dialect: str | None = None,
        *,
        framing: str = "sse",
        provider: str | None = None,
        wire_limits: WireLimits = DEFAULT_WIRE_LIMITS,
        first_item: int = 0,
        first_part: int = 0,
        keeps_message: bool = True,
        quirks: ChatQuirks = DEFAULT_QUIRKS,
        outputs: OutputsKind | None = None,
    ) -> None:
        self._limits = wire_limits
        self._outputs: OutputsKind | None = outputs
        self._provider = provider
        self._numbers = (first_item, first_part)
        self._options: dict[str, Any] = {
            "quirks": quirks,
            "keeps_logprobs": quirks.keeps_logprobs,
            "is_outputs_kind_given": outputs is not None,
        }
        self._framing = create_framing(framing, wire_limits)
        self._frames = self._framing.feed
        self._tiny_bytes = _TINY_BYTES if framing in LINE_FRAMINGS else 0
        self._joined = bytearray()
        self._dialect: JSONDialect[Any] | None = None
        self._undecided: list[Frame] = []
        self._undecided_bytes = 0
        self._room = wire_limits.max_total_bytes
        self._is_closed = False
        self._is_broken = False
        self._made: list[TurnEvent] = []
        self._ledger: Ledger | None = None
        self._take: Callable[[Frame], None] = self._read
        self._events: list[TurnEvent] | None = [] if keeps_message else None
        self.ignored_frames = 0
        dialect = dialect or dialect_of_framing(framing)
        if dialect is not None:
            self._speak(dialect)

    def feed(self, data: bytes) -> list[TurnEvent]:
        """Take one read; return the events it made known."""
        length = len(data)
        joined = self._joined
        if length < self._tiny_bytes and LF not in data and CR not in data:
            # No line ends here, so nothing becomes known.
            joined += data
            if len(joined) < _MAX_JOINED_BYTES:
                return []
            data = b""
        if joined:
            data = self._with_joined(data)
            length = len(data)
        self._room = room = self._room - length
        if room < 0:
            return self._feed_last(data)
        ledger = self._ledger
        try:
            for frame in self._frames(data):
                if ledger is None or ledger.is_finished:
                    self._read(frame)
                    ledger = self._ledger
                else:
                    self._take(frame)
        except WireError as error:
            self._break(error)
        made = self._made
        if len(made) != 1 or (ledger is not None and ledger.surrogate_joiner is not None):
            return self._taken() if made else []
        # One event a read is the rule: the short way for it.
        event = made.pop()
        if self._events is not None:
            self._events.append(event)
        return [event]

    def _with_joined(self, data: bytes) -> bytes:
        whole = bytes(self._joined) + data
        self._joined.clear()
        return whole

    def _feed_last(self, data: bytes) -> list[TurnEvent]:
        """What still has room is read, so that a limit cuts where it is, not where a read
        happens to end."""
        if self._is_broken:
            return []
        try:
            for frame in self._framing.feed(data[: self._room]):
                self._read(frame)
            # A failure that the framing holds back behind whole frames came first.
            self._framing.feed(b"")
            raise LimitExceeded("max_total_bytes", self._limits.max_total_bytes)
        except WireError as error:
            self._break(error)
        return self._taken()

    def close(self) -> list[TurnEvent]:
        """The bytes have ended: finished, or cut."""
        if self._is_closed or self._is_broken:
            return []
        self._is_closed = True
        self._tiny_bytes = 0
        return self.feed(b"") + self._closed()

    def _closed(self) -> list[TurnEvent]:
        if self._is_broken:
            return []
        try:
            for frame in self._framing.close():
                self._read(frame)
            unfinished = self._framing.unfinished
            if unfinished is not None and not self.is_finished:
                self._read(unfinished)
            self._spoken().close()
        except WireError as error:
            self._break(error)
        return self._taken()

    def fail(self, failure: ErrorInfo) -> list[TurnEvent]:
        """The bytes broke off for a reason that they do not tell, such as the network:
        close what is open and say it. Nothing, where the turn has ended already."""
        if self._is_closed or self._is_broken:
            return []
        self._is_closed = True
        self._give_up(failure)
        return self._taken()

    def _taken(self) -> list[TurnEvent]:
        events = [] if self._ledger is None else self._ledger.take()
        if self._events is not None:
            self._events += events
        return events

    def _read(self, frame: Frame) -> None:
        dialect = self._dialect
        if dialect is None:
            self._decide(frame)
        elif dialect.ledger.is_finished:
            self.ignored_frames += 1
        else:
            dialect.feed(frame)

    # -- the dialect

    def _decide(self, frame: Frame) -> None:
        """Hold frames back until one of them tells the dialect."""
        self._undecided.append(frame)
        self._undecided_bytes += len(frame.data)
        name = detect(frame, self._limits.max_depth)
        is_late = (
            len(self._undecided) >= _MAX_UNDECIDED_FRAMES
            or self._undecided_bytes > self._limits.max_frame_bytes
        )
        if name is None and is_late:
            name = _FALLBACK_DIALECT
        if name is not None:
            self._speak(name)

    def _spoken(self) -> JSONDialect[Any]:
        if self._dialect is None:
            self._speak(_FALLBACK_DIALECT)
        assert self._dialect is not None
        return self._dialect

    def _speak(self, name: str) -> None:
        dialect_class = load_dialect(name)
        ledger = Ledger(
            name,
            provider=self._provider,
            outputs=self._outputs or dialect_class.outputs,
            limits=self._limits,
            first_item=self._numbers[0],
            first_part=self._numbers[1],
        )
        options = {option: self._options[option] for option in dialect_class.decoder_options}
        self._dialect = dialect_class(ledger, limits=self._limits, **options)
        self._made, self._ledger, self._take = ledger.events, ledger, self._dialect.feed
        waiting, self._undecided = self._undecided, []
        for frame in waiting:
            self._read(frame)

    def _break(self, error: WireError) -> None:
        """The bytes break the format: one terminal event says so."""
        self._is_broken = True
        self._room = -1
        self._give_up(ErrorInfo("protocol", str(error)))

    def _give_up(self, failure: ErrorInfo) -> None:
        try:
            self._spoken().fail(failure)
        except WireError:
            # What was held back breaks it too; the first failure is the one to tell.
            self._spoken().ledger.fail(failure)

    # -- what is known, at any time

    @property
    def dialect(self) -> str | None:
        """The name of the dialect, once it is known."""
        return None if self._dialect is None else self._dialect.name

    @property
    def is_finished(self) -> bool:
        """Whether the terminal event has come."""
        return self._dialect is not None and self._dialect.ledger.is_finished

    @property
    def is_end_known(self) -> bool:
        """Whether the provider has said how the turn ends: if the bytes break off now,
        nothing is missing."""
        return self._ledger is not None and self._ledger.is_end_known()

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        return Usage() if self._dialect is None else self._dialect.ledger.usage

    @property
    def finish(self) -> FinishReason | None:
        """How the turn finished; None while it goes on, and where it failed."""
        return None if self._dialect is None else self._dialect.ledger.finish_reason

    @property
    def error(self) -> ErrorInfo | None:
        """What broke the turn, if something did."""
        return None if self._dialect is None else self._dialect.ledger.error

    @property
    def skipped_frames(self) -> int:
        """Frames that could not be read."""
        return 0 if self._dialect is None else self._dialect.ledger.skipped_frames

    @property
    def message(self) -> Message:
        """The message as far as it is told; times are 0, since a decoder has no clock."""
        if self._events is None:
            raise UsageError("this decoder was made with keeps_message=False")
        return fold(Record(seq, 0, event) for seq, event in enumerate(self._events, 1))

    @property
    def next_item(self) -> int:
        """The number that the next turn's first item gets."""
        return (
            self._numbers[0] if self._dialect is None else self._dialect.ledger.counters.next_item
        )

    @property
    def next_part(self) -> int:
        """The number that the next turn's first part gets."""
        return (
            self._numbers[1] if self._dialect is None else self._dialect.ledger.counters.next_part
        )
