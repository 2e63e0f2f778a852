"""The decoder: turns the bytes of one turn into turn events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from headrace.errors import LimitExceeded, UsageError, WireError
from headrace.events import DeltaEvent, OutputsKind, Record, TurnEvent
from headrace.messages import Message, fold
from headrace.outcome import ErrorInfo, FinishReason
from headrace.secrets.scrub import scrub
from headrace.usage import Usage
from headrace.wire.detection import detect, dialect_of_framing
from headrace.wire.dialects import load_dialect
from headrace.wire.dialects.chat import DEFAULT_QUIRKS, ChatQuirks
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.error import describe_body
from headrace.wire.framing import LINE_FRAMINGS, create_framing
from headrace.wire.framing.frame import Frame, SingleFraming
from headrace.wire.framing.splitter import CR, LF
from headrace.wire.ledger import Ledger
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

ReadResult: TypeAlias = list[TurnEvent] | DeltaEvent
"""The events of a read: a list, or a single delta without one."""

# A stream whose dialect is not known by then is read as the most common one.
_MAX_UNDECIDED_FRAMES = 16
_FALLBACK_DIALECT = "chat"
# Smaller reads are joined first, because framing each of them costs more; and how much is joined.
_TINY_BYTES = 64
_MAX_JOINED_BYTES = 64 * 1024
# After how many reads in a row that the fast path could not take it is given up.
_MAX_MISSES = 64
# How much of a body that is no stream is kept for its error message.
_MAX_FIRST_BYTES = 4 * 1024


class Decoder:
    """Decodes the bytes of one turn: framing, dialect and ledger together.

    Call `feed()` with reads of any length, and `close()` when the bytes end; both return the events
    that became known. Nothing that a peer sends raises: an error in the stream ends the turn with
    one `TurnFailed`. Frames after the terminal event are only counted, in `ignored_frames`.

    If `dialect` is None, it is detected from the first frames. `provider` and `model` are for
    streams that do not name them. `outputs` says what output numbers mean, candidates or the
    successive steps of an agent; None leaves it to the dialect.
    `first_item` and `first_part` continue the numbers of the previous turn of a run (`next_item`,
    `next_part`). `quirks` are for chat streams; xAI streams use only `keeps_logprobs`. With
    `keeps_message=False` no events are kept, and `message` cannot be read. A frame that cannot be
    read is reported and skipped; with `strict` it ends the turn with an error.
    """

    __slots__ = (
        "_clean", "_dialect", "_events", "_first_bytes", "_frames", "_framing", "_has_event",
        "_has_lines", "_is_broken", "_is_closed", "_is_strict", "_joined", "_ledger", "_limits",
        "_misses", "_model", "_new_events", "_numbers", "_options", "_outputs", "_provider",
        "_read_delta", "_room", "_room_after", "_single", "_take", "_tiny_bytes", "_undecided",
        "_undecided_bytes", "ignored_frames",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - each is one fact about the stream
        self,
        dialect: str | None = None,
        *,
        framing: str = "sse",
        provider: str | None = None,
        model: str | None = None,
        wire_limits: WireLimits = DEFAULT_WIRE_LIMITS,
        first_item: int = 0,
        first_part: int = 0,
        keeps_message: bool = True,
        quirks: ChatQuirks = DEFAULT_QUIRKS,
        outputs: OutputsKind | None = None,
        strict: bool = False,
    ) -> None:
        self._limits = wire_limits
        self._outputs: OutputsKind | None = outputs
        self._provider = provider
        self._model = model
        self._numbers = (first_item, first_part)
        self._is_strict = strict
        self._clean: Callable[[str], str] = scrub
        self._options: dict[str, Any] = {
            "quirks": quirks,
            "keeps_logprobs": quirks.keeps_logprobs,
            "is_outputs_kind_given": outputs is not None,
        }
        self._framing = create_framing(framing, wire_limits)
        self._frames: Callable[[bytes], list[Frame]] = self._feed_first
        self._first_bytes = bytearray()
        self._has_lines = framing in LINE_FRAMINGS
        self._tiny_bytes = _TINY_BYTES if self._has_lines else 0
        self._joined = bytearray()
        self._dialect: JSONDialect[Any] | None = None
        self._undecided: list[Frame] = []
        self._undecided_bytes = 0
        # Bytes until the end of the block, and after it; see `max_silent_bytes`.
        self._room = 0
        self._room_after = wire_limits.max_total_bytes
        self._has_event = False
        self._is_closed = False
        self._is_broken = False
        self._new_events: list[TurnEvent] = []
        self._ledger: Ledger | None = None
        self._take: Callable[[Frame], None] = self._feed_frame
        # The framing while the fast path of `feed` may be used; see `_allow_fast_path`.
        self._single: SingleFraming | None = None
        self._misses = 0
        self._read_delta: Callable[[bytes, str], DeltaEvent | None]
        self._events: list[TurnEvent] | None = [] if keeps_message else None
        self.ignored_frames = 0
        self._start_block()
        dialect = dialect or dialect_of_framing(framing)
        if dialect is not None:
            self._set_dialect(dialect)

    def feed(self, data: bytes) -> list[TurnEvent]:
        """Take one read and return the events that became known."""
        length = len(data)
        joined = self._joined
        if length < self._tiny_bytes and LF not in data and CR not in data:
            # No line ends here, so no event can become known.
            joined += data
            if len(joined) < _MAX_JOINED_BYTES:
                return []
            data = b""
        if joined:
            data = self._take_joined(data)
            length = len(data)
        self._room = room = self._room - length
        if room < 0:
            return self._feed_blocks(data)
        framing = self._single
        if framing is not None:
            # Fast path: a read is one frame, and the frame one delta of an open part. It creates
            # no frame and adds no event to the ledger. Measured: saves from 9 % (chat) to 37 %
            # (Responses) of the time.
            payload = framing.cut_single(data)
            if payload is not None:
                delta = self._read_delta(payload, framing.single_event)
                if delta is not None:
                    self._misses = 0
                    if self._events is not None:
                        self._events.append(delta)
                    return [delta]
            self._count_miss()
        return self._feed_frames(data)

    def feed_single(self, data: bytes) -> ReadResult:
        """Take one read as `feed()` does. A delta that the fast path has read is returned without a
        list, which the writer of a run would take apart at once."""
        # This repeats the fast path of `feed()`. If `feed()` called it instead, decoding a chat
        # stream would take 4 % longer (measured on 2026-11-20).
        framing = self._single
        length = len(data)
        room = self._room - length
        if framing is None or self._joined or length < self._tiny_bytes or room < 0:
            return self.feed(data)
        self._room = room
        payload = framing.cut_single(data)
        if payload is not None:
            delta = self._read_delta(payload, framing.single_event)
            if delta is not None:
                self._misses = 0
                if self._events is not None:
                    self._events.append(delta)
                return delta
        self._count_miss()
        return self._feed_frames(data)

    def _count_miss(self) -> None:
        """Give the fast path up on a stream that it does not fit: trying costs up to a fifth."""
        self._misses += 1
        if self._misses >= _MAX_MISSES:
            self._single = None

    def _feed_frames(self, data: bytes) -> list[TurnEvent]:
        """Read data of any number of frames."""
        ledger = self._ledger
        try:
            for frame in self._frames(data):
                if ledger is None or ledger.is_finished:
                    self._feed_frame(frame)
                    ledger = self._ledger
                else:
                    self._take(frame)
        except WireError as error:
            self._fail_protocol(error)
        events = self._new_events
        if len(events) != 1 or (ledger is not None and ledger.surrogate_joiner is not None):
            return self._take_events() if events else []
        # Fast path: most reads bring exactly one event.
        event = events.pop()
        if self._events is not None:
            self._events.append(event)
        return [event]

    def _feed_first(self, data: bytes) -> list[Frame]:
        """Cut reads into frames until the answer has begun, and keep their bytes: a body that is no
        stream has no answer."""
        if self._ledger is not None and self._ledger.has_outputs:
            self._frames = self._framing.feed
            self._first_bytes.clear()
            self._allow_fast_path()
        else:
            self._first_bytes += data[: _MAX_FIRST_BYTES - len(self._first_bytes)]
        return self._framing.feed(data)

    def _take_joined(self, data: bytes) -> bytes:
        whole = bytes(self._joined) + data
        self._joined.clear()
        return whole

    def _feed_blocks(self, data: bytes) -> list[TurnEvent]:
        """Read data that passes the end of a block. Limits are checked exactly there, so that they
        cut at the same byte however the reads are cut."""
        events: list[TurnEvent] = []
        while self._room < 0 and not self._is_broken:
            block, data = data[: self._room], data[self._room :]
            try:
                for frame in self._frames(block):
                    self._feed_frame(frame)
                self._check_block()
            except WireError as error:
                self._fail_protocol(error)
            else:
                self._start_block()
            events += self._take_events()
        if self._is_broken:
            return events
        # These bytes have been counted.
        self._room += len(data)
        return events + self.feed(data)

    def _check_block(self) -> None:
        """Raise `LimitExceeded` if the stream may not go on after this block."""
        if self._room_after and self._has_event:
            return
        # An error that the framing holds back behind whole frames comes first.
        self._framing.feed(b"")
        name = "max_silent_bytes" if self._room_after else "max_total_bytes"
        raise LimitExceeded(name, getattr(self._limits, name))

    def _start_block(self) -> None:
        """Watch for an event again. Frames are fed directly only after the first one."""
        size = min(self._limits.max_silent_bytes, self._room_after)
        self._room += size
        self._room_after -= size
        self._has_event = False
        self._take = self._feed_frame
        self._single = None

    def _allow_fast_path(self) -> None:
        """Use the fast path of `feed` if the framing and the dialect have one and nothing has to be
        watched: the answer has begun, this block has an event, and no half of a surrogate pair is
        held back."""
        ledger = self._ledger
        if not self._has_event or self._first_bytes or ledger is None:
            return
        has_reader = type(self._require_dialect()).read_delta is not JSONDialect[Any].read_delta
        if has_reader and ledger.surrogate_joiner is None and hasattr(self._framing, "cut_single"):
            self._single = cast("SingleFraming", self._framing)

    def clean_with(self, clean: Callable[[str], str]) -> None:
        """Use a function that removes secrets from what is kept of unreadable frames. By default
        anything that looks like an API key is removed."""
        self._clean = clean
        if self._ledger is not None:
            self._ledger.clean = clean

    def close(self) -> list[TurnEvent]:
        """Take the end of the bytes and return the last events."""
        if self._is_closed or self._is_broken:
            return []
        self._is_closed = True
        self._tiny_bytes = 0
        return self.feed(b"") + self._close_framing()

    def _close_framing(self) -> list[TurnEvent]:
        if self._is_broken:
            return []
        try:
            for frame in self._framing.close():
                self._feed_frame(frame)
            unfinished = self._framing.unfinished
            if unfinished is not None and not self.is_finished:
                self._feed_frame(unfinished)
            self._close_dialect()
        except WireError as error:
            self._fail_protocol(error)
        return self._take_events()

    def _close_dialect(self) -> None:
        """End the turn. If nothing of it was an answer, the body may say why."""
        dialect = self._require_dialect()
        is_answer = dialect.ledger.has_outputs or not self._has_lines
        error = None if is_answer else describe_body(bytes(self._first_bytes))
        if error is None:
            dialect.close()
        else:
            dialect.fail(error)

    def fail(self, error: ErrorInfo) -> list[TurnEvent]:
        """End the turn with an error that is not in the bytes, such as a network error.

        Closes what is open and returns the last events; returns nothing if the turn has already
        ended.
        """
        if self._is_closed or self._is_broken:
            return []
        self._is_closed = True
        self._give_up(error)
        return self._take_events()

    def _take_events(self) -> list[TurnEvent]:
        ledger = self._ledger
        events = [] if ledger is None else ledger.take()
        if ledger is not None and ledger.surrogate_joiner is not None:
            self._single = None
        if self._events is not None:
            self._events += events
        return events

    def _feed_frame(self, frame: Frame) -> None:
        dialect = self._dialect
        if dialect is None:
            self._detect(frame)
        elif dialect.ledger.is_finished:
            self.ignored_frames += 1
        else:
            dialect.feed(frame)
            if self._new_events:
                self._has_event = True
                self._take = dialect.feed
                self._allow_fast_path()

    # -- the dialect

    def _detect(self, frame: Frame) -> None:
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
            self._set_dialect(name)

    def _require_dialect(self) -> JSONDialect[Any]:
        if self._dialect is None:
            self._set_dialect(_FALLBACK_DIALECT)
        assert self._dialect is not None
        return self._dialect

    def _set_dialect(self, name: str) -> None:
        dialect_class = load_dialect(name)
        ledger = Ledger(
            name,
            provider=self._provider,
            model=self._model,
            outputs=self._outputs or dialect_class.outputs,
            limits=self._limits,
            first_item=self._numbers[0],
            first_part=self._numbers[1],
            strict=self._is_strict,
        )
        ledger.clean = self._clean
        options = {option: self._options[option] for option in dialect_class.decoder_options}
        self._dialect = dialect_class(ledger, limits=self._limits, **options)
        self._read_delta = self._dialect.read_delta
        self._new_events, self._ledger = ledger.events, ledger
        frames, self._undecided = self._undecided, []
        for frame in frames:
            self._feed_frame(frame)

    def _fail_protocol(self, error: WireError) -> None:
        self._is_broken = True
        self._room = -1
        self._give_up(ErrorInfo("protocol", str(error)))

    def _give_up(self, error: ErrorInfo) -> None:
        try:
            self._require_dialect().fail(error)
        except WireError:
            # What was held back is broken too; report the first error.
            self._require_dialect().ledger.fail(error)

    # -- state

    @property
    def dialect(self) -> str | None:
        """Name of the dialect, or None while it is not known."""
        return None if self._dialect is None else self._dialect.name

    @property
    def is_finished(self) -> bool:
        """Whether the terminal event has come."""
        return self._dialect is not None and self._dialect.ledger.is_finished

    @property
    def is_end_known(self) -> bool:
        """Whether the provider has said how the turn ends: if the bytes break off now, nothing is
        missing."""
        return self._ledger is not None and self._ledger.is_end_known()

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        return Usage() if self._dialect is None else self._dialect.ledger.usage

    @property
    def output_chars(self) -> int:
        """Number of characters of text, reasoning and arguments so far."""
        return 0 if self._ledger is None else self._ledger.output_chars

    @property
    def finish(self) -> FinishReason | None:
        """Why the turn ends, as soon as the provider has said it. None before that, and if the turn
        failed."""
        return None if self._dialect is None else self._dialect.ledger.finish_reason

    @property
    def error(self) -> ErrorInfo | None:
        """What failed, or None."""
        return None if self._dialect is None else self._dialect.ledger.error

    @property
    def skipped_frames(self) -> int:
        """Number of frames that could not be read."""
        return 0 if self._dialect is None else self._dialect.ledger.skipped_frames

    @property
    def skip_reason(self) -> str | None:
        """Why the first of these frames could not be read, or None if all could."""
        return None if self._dialect is None else self._dialect.ledger.skip_reason

    @property
    def message(self) -> Message:
        """The message so far. Times are 0, because a decoder has no clock."""
        if self._events is None:
            raise UsageError("this decoder was made with keeps_message=False")
        return fold(Record(seq, 0, event) for seq, event in enumerate(self._events, 1))

    @property
    def next_item(self) -> int:
        """The first item number of the next turn."""
        return self._numbers[0] if self._ledger is None else self._ledger.counters.next_item

    @property
    def next_part(self) -> int:
        """The first part number of the next turn."""
        return self._numbers[1] if self._ledger is None else self._ledger.counters.next_part
