"""Applies the mutations to a sample and decides of each result whether it keeps the promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from headrace import events as ev
from headrace.events import Record, TurnEvent
from headrace.messages import fold_candidates
from tests.grammar import check_grammar
from tests.mutation.content import content_of, is_said, runnable_calls
from tests.mutation.dialect import ENDLESS, frames_to_end
from tests.mutation.faults import DAMAGES, INSERTIONS, MESSAGE, UNSPECIFIC
from tests.mutation.harmless import EXTRA, FOLDED, MUTATIONS, Reads
from tests.mutation.sample import DONE, Sample, Sent, write_event

# Dialects that end with a frame of their own: `[DONE]` does not make up for it.
_HAS_OWN_END = ("anthropic", "responses", "bedrock", "text", "cohere", "interactions")


@dataclass(frozen=True)
class Violation:
    """A mutation whose result breaks a promise."""

    sample: Sample
    mutation: str
    why: str
    data: Reads
    place: int | None = None

    def __str__(self) -> str:
        where = "" if self.place is None else f" at frame {self.place}"
        return f"{self.sample.name}: {self.mutation}{where}: {self.why}"


@dataclass
class Verdict:
    """The results of all mutations of one kind on one sample."""

    cases: int = 0
    quiet_losses: int = 0
    broken_calls: int = 0
    violations: list[Violation] = field(default_factory=list)


# -- harmless mutations


def judge_harmless(sample: Sample) -> Verdict:
    """Each harmless mutation must leave the events as they are; where texts are divided
    differently, the folded message."""
    verdict = Verdict()
    for name, mutate in MUTATIONS.items():
        data = mutate(sample)
        if data is None or data == sample.data:
            continue
        events = sample.decode(data)
        verdict.cases += 1
        why = _compare(sample, name, events)
        if why is not None:
            verdict.violations.append(Violation(sample, name, why, data))
    return verdict


def _compare(sample: Sample, name: str, events: list[TurnEvent]) -> str | None:
    if name in FOLDED:
        expected: Any = _folded(sample.events)
        got: Any = _folded(events)
    else:
        expected, got = _normal(sample.events), _normal(events)
    if expected == got:
        return None
    for one, other in zip(expected, got, strict=False):
        if one != other:
            return f"expected {str(one)[:300]}, got {str(other)[:300]}"
    return f"{len(got)} events instead of {len(expected)}"


def _folded(events: Iterable[TurnEvent]) -> list[Any]:
    records = [Record(seq, 0, event) for seq, event in enumerate(events, 1)]
    return [msgspec.to_builtins(message) for message in fold_candidates(records)]


def _normal(events: Iterable[TurnEvent]) -> list[Any]:
    return [_without_extra(msgspec.to_builtins(event)) for event in events]


def _without_extra(value: Any) -> Any:
    """Leave out what mutations have added, and compare JSON texts as values."""
    if isinstance(value, dict):
        entries = {key: _without_extra(entry) for key, entry in value.items() if key != EXTRA}
        return {key: entry for key, entry in entries.items() if entry != {}}
    if isinstance(value, list | tuple):
        return [_without_extra(entry) for entry in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return _without_extra(msgspec.json.decode(value))
        except msgspec.DecodeError:
            return value
    return value


# -- errors and cuts


def judge_errors(sample: Sample, places: Iterable[int]) -> Verdict:
    """An error or a cut after any frame before the end of the turn must fail the turn."""
    verdict = Verdict()
    end = frames_to_end(sample)
    for place in places:
        head = sample.write(sample.frames[:place], is_whole=False)
        for name, data in _broken_streams(sample, place, head):
            events = sample.decode(data)
            verdict.cases += 1
            _judge(verdict, Violation(sample, name, "", data, place), events, is_over=place >= end)
    return verdict


def _broken_streams(sample: Sample, place: int, head: bytes) -> Iterator[tuple[str, bytes]]:
    rest = sample.write(sample.frames[place:], is_whole=True)
    if sample.framing == "json-array":
        rest = b"\n,\n" + rest[1:] if place < len(sample.frames) else b"]"
    for name, insertion in INSERTIONS.items():
        error = insertion(sample)
        if error is None:
            continue
        if sample.framing == "json-array" and place == 0:
            error = error.removeprefix(b"\n,\n")
        yield name, head + error
        if not error.endswith(b"\n") and sample.framing == "sse":
            continue  # What follows would be the same line.
        yield f"{name}, then the rest", head + error + rest
        if sample.framing == "sse":
            yield f"{name}, then [DONE]", head + error + write_event(Sent(DONE))
    yield "cut", head
    if place < len(sample.frames):
        frame = sample.frames[place]
        yield "cut in a frame", head + sample.write([frame])[: max(1, len(frame.data) // 2)]
    if sample.framing == "sse":
        yield "cut, then [DONE]", head + write_event(Sent(DONE))


def _judge(verdict: Verdict, case: Violation, events: list[TurnEvent], *, is_over: bool) -> None:
    check_grammar(events)
    sample, name = case.sample, case.mutation
    why = None
    if not is_said(events) and content_of(events) != sample.content and not _is_open_end(case):
        verdict.quiet_losses += 1
        why = f"a quiet success with lost content: {_show(events[-1])}"
    elif not is_over:
        why = _explain_no_error(case, events)
    if why is not None:
        verdict.violations.append(Violation(sample, name, why, case.data, case.place))


def _is_open_end(case: Violation) -> bool:
    """Whether a chat stream ended with `[DONE]` alone, or a stream without any end between two
    frames, which is allowed: its reason is `other`."""
    if case.sample.dialect in ENDLESS:
        return case.mutation in ("cut", "cut, then [DONE]")
    return case.mutation == "cut, then [DONE]" and case.sample.dialect not in _HAS_OWN_END


def _is_made_up_for(case: Violation, events: list[TurnEvent]) -> bool:
    """Whether the insertion was reported and the final snapshot proves that nothing is missing."""
    is_reported = any(isinstance(event, ev.FrameSkipped) for event in events)
    return is_reported and content_of(events) == case.sample.content


def _explain_no_error(case: Violation, events: list[TurnEvent]) -> str | None:
    end = events[-1]
    name = case.mutation.removesuffix(", then [DONE]").removesuffix(", then the rest")
    if isinstance(end, ev.TurnFailed):
        is_named = name in INSERTIONS and name not in UNSPECIFIC
        if is_named and MESSAGE not in end.message:
            return f"the message of the error is lost: {_show(end)}"
        return None
    if name in UNSPECIFIC and (is_said(events) or _is_made_up_for(case, events)):
        return None
    if _is_open_end(case):
        # Where one of several candidates has finished, its reason is that of the turn.
        is_other = isinstance(end, ev.TurnFinished) and end.reason.word == "other"
        is_allowed = is_other or len(case.sample.content) > 1
        return None if is_allowed else f"a cut passes for {_show(end)}"
    return f"the error is ignored: {_show(end)}"


# -- damaged frames


def judge_damages(sample: Sample, places: Iterable[int]) -> Verdict:
    """A damaged frame must be made up for by a snapshot, or be said at the end; and no call may
    be run whose arguments have lost a frame."""
    verdict = Verdict()
    calls = runnable_calls(sample.events)
    for place in places:
        if sample.frames[place].payload is None:
            continue
        for name, damage in DAMAGES.items():
            data = damage(sample, place)
            if data is None:
                continue
            events = sample.decode(data)
            verdict.cases += 1
            check_grammar(events)
            case = Violation(sample, name, "", data, place)
            for why in _explain_damage(verdict, sample, events, calls):
                verdict.violations.append(Violation(sample, name, why, case.data, place))
    return verdict


def _explain_damage(
    verdict: Verdict, sample: Sample, events: list[TurnEvent], calls: list[tuple[str, str]]
) -> Iterator[str]:
    if not is_said(events) and content_of(events) != sample.content:
        verdict.quiet_losses += 1
        yield f"a quiet success with lost content: {_show(events[-1])}"
    foreign = [call for call in runnable_calls(events) if call not in calls]
    if foreign:
        verdict.broken_calls += len(foreign)
        yield f"a call that lost a frame can be run: {foreign[0]}"


def _show(event: TurnEvent) -> str:
    return str(event)[:200]
