"""Records become messages: of a single turn, of a run, of candidates, at any moment."""

from __future__ import annotations

from headrace import events as ev
from headrace.content import TextContent
from headrace.events import Event, Record, UnknownEvent
from headrace.messages import (
    CallPart,
    Citation,
    OpaquePart,
    ReasoningPart,
    Seal,
    TextPart,
    fold,
    fold_candidates,
)
from headrace.messages.assembler import Assembler
from headrace.outcome import END_TURN, MAX_TOKENS, TOOL_USE, ErrorInfo
from headrace.usage import Usage


def records(*events: Event, step: int = 0, first: int = 1) -> list[Record]:
    return [Record(seq, seq * 10, event, (), step) for seq, event in enumerate(events, first)]


def started() -> list[Event]:
    return [ev.TurnStarted(dialect="anthropic", provider="p", model="m"), ev.OutputStarted(0)]


def finished(usage: Usage | None = None) -> list[Event]:
    reason = END_TURN
    return [
        ev.OutputFinished(0, reason, "stop"),
        ev.TurnFinished(reason=reason, usage=usage or Usage(), provider_data={"created": 5}),
    ]


def text(part: int, *deltas: str) -> list[Event]:
    return [
        ev.TextStarted(part=part, output=0, item=part),
        *(ev.TextDelta(part, delta) for delta in deltas),
        ev.TextFinished(part),
    ]


def call(part: int, call_id: str) -> list[Event]:
    return [
        ev.ToolCallStarted(part=part, output=0, item=part, call_id=call_id, name="f"),
        ev.ToolCallArgsDelta(part, "{}"),
        ev.ToolCallFinished(part=part, call_id=call_id, name="f", args={}, raw="{}"),
    ]


def test_a_turn_keeps_its_parts_in_order_with_numbers_and_times() -> None:
    message = fold(
        records(
            *started(),
            ev.ReasoningStarted(part=0, output=0, item=0, item_id="rs"),
            ev.ReasoningDelta(0, "hm"),
            ev.ReasoningDelta(0, "m"),
            ev.ReasoningFinished(0, "sig"),
            *text(1, "a", "b"),
            *finished(Usage(output_tokens=2)),
        )
    )
    reasoning, answer = message.turns[0].parts
    assert reasoning == ReasoningPart(
        part=0,
        output=0,
        item=0,
        item_id="rs",
        started_ms=30,
        ended_ms=60,
        text="hmm",
        seals=(Seal("signature", "sig"),),
    )
    assert isinstance(answer, TextPart)
    assert (answer.text, answer.started_ms, answer.ended_ms) == ("ab", 70, 100)
    assert (message.finish, message.usage) == (END_TURN, Usage(output_tokens=2))
    assert message.created_at_ms == 10
    assert message.turns[0].provider_data == {"created": 5}
    assert (message.text, message.reasoning) == ("ab", "hmm")


def test_a_message_can_be_read_in_the_middle() -> None:
    message = fold(records(*started(), *text(0, "a", "b")[:2]))
    part = message.turns[0].parts[0]
    assert isinstance(part, TextPart)
    assert (part.text, part.ended_ms, message.finish) == ("a", None, None)


def test_late_seals_citations_and_activities_find_their_part() -> None:
    message = fold(
        records(
            *started(),
            *text(0, "a"),
            ev.ToolCallStarted(
                part=1, output=0, item=1, call_id="s", name="search", executor="provider"
            ),
            ev.ToolActivity(part=1, call_id="s", status="searching"),
            ev.PartSealed(0, "signature", "late"),
            ev.CitationAdded(part=0, ref="u"),
            ev.CitationAdded(ref="everywhere"),
            ev.OpaqueItem(part=2, output=0, item=2, kind="odd", data="{}"),
        )
    )
    turn = message.turns[0]
    answer, search, odd = turn.parts
    assert isinstance(answer, TextPart)
    assert answer.seals == (Seal("signature", "late"),)
    assert answer.citations == (Citation(ref="u"),)
    assert turn.citations == (Citation(ref="everywhere"),)
    assert isinstance(search, CallPart)
    assert [activity.status for activity in search.activities] == ["searching"]
    assert isinstance(odd, OpaquePart)


def test_a_failed_turn_keeps_what_came_and_says_what_broke() -> None:
    message = fold(
        records(
            *started(),
            *text(0, "half"),
            ev.OutputFinished(0),
            ev.TurnFailed(category="incomplete", message="cut", retryable=True),
        )
    )
    assert message.text == "half"
    assert message.finish is None
    assert message.error == ErrorInfo("incomplete", "cut", retryable=True)


def test_a_run_is_one_message_with_its_results_in_call_order() -> None:
    first = [
        ev.RunStarted("run_1", "m", "high"),
        ev.StepStarted(0),
        *started(),
        *call(0, "a"),
        *call(1, "b"),
        ev.OutputFinished(0, TOOL_USE),
        ev.TurnFinished(reason=TOOL_USE, usage=Usage(output_tokens=1)),
        ev.ToolStarted("a"),
        ev.ToolStarted("b"),
        ev.ToolResult(call_id="b", content=(TextContent("2"),)),
        ev.ToolResult(call_id="a", content=(TextContent("1"),), kind="web_search"),
        ev.StepFinished(0),
    ]
    second = [*started(), *text(2, "done"), *finished(Usage(output_tokens=5))]
    log = records(*first) + records(*second, step=1, first=len(first) + 1)
    total = Usage(output_tokens=6)
    assert fold(log).usage == total
    message = fold([*log, Record(99, 990, ev.RunFinished(END_TURN, total))])
    assert (message.run_id, message.effort, message.finish) == ("run_1", "high", END_TURN)
    assert [turn.step for turn in message.turns] == [0, 1]
    results = message.turns[0].results
    assert [result.call_id for result in results] == ["a", "b"]
    assert results[0].kind == "web_search"
    assert results[0].started_ms is not None
    assert message.usage == total


def test_a_discarded_step_leaves_nothing() -> None:
    log = records(ev.RunStarted("r"), *started(), *text(0, "no"), ev.StepDiscarded(0, "overloaded"))
    log += records(*started(), *text(1, "yes"), *finished(), first=20)
    assert fold(log).text == "yes"


def test_nested_runs_are_in_the_results_of_their_calls() -> None:
    log = records(*started(), *text(0, "mine"))
    log.append(Record(50, 500, UnknownEvent("new", b"{}")))
    nested = [*started(), *text(0, "nested")]
    log += [Record(60 + n, 600, event, ("call",)) for n, event in enumerate(nested)]
    assert fold(log).text == "mine"
    assert fold(log, path=("call",)).text == "nested"
    log.append(Record(90, 900, ev.ToolResult(call_id="call", content=())))
    (result,) = fold(log).turns[-1].results
    assert result.message is not None
    assert result.message.text == "nested"


def test_candidates_are_messages_of_their_own() -> None:
    log = records(
        ev.TurnStarted(dialect="chat"),
        ev.OutputStarted(1),
        ev.OutputStarted(0),
        ev.TextStarted(part=0, output=1, item=0),
        ev.TextDelta(0, "b"),
        ev.TextStarted(part=1, output=0, item=1),
        ev.TextDelta(1, "a"),
        ev.TextFinished(0),
        ev.TextFinished(1),
        ev.OutputFinished(1, MAX_TOKENS),
        ev.OutputFinished(0, END_TURN),
        ev.TurnFinished(reason=END_TURN, usage=Usage(output_tokens=2)),
    )
    first, second = fold_candidates(log)
    assert (first.text, first.finish) == ("a", END_TURN)
    assert (second.text, second.finish) == ("b", MAX_TOKENS)
    assert second.usage == Usage(output_tokens=2)


def test_many_pieces_join_without_anything_between_them() -> None:
    """Pieces are joined from time to time, to save memory."""
    pieces = [f"{number} " for number in range(100)]
    message = fold(records(*started(), *text(0, *pieces), *finished()))
    assert message.text == "".join(pieces)


def test_a_restored_text_replaces_all_pieces() -> None:
    part = text(0, *["piece "] * 40)
    restored = [*part[:-1], ev.PartRestored(0, "The whole text."), part[-1]]
    assert fold(records(*started(), *restored, *finished())).text == "The whole text."


def test_a_malformed_call_keeps_what_was_written_and_why() -> None:
    start, args, _ = call(0, "c")
    malformed = ev.ToolCallMalformed(part=0, call_id="c", name="f", raw='{"a": ', error="no JSON")
    message = fold(records(*started(), start, args, malformed, *finished()))
    (part,) = message.turns[0].parts
    assert isinstance(part, CallPart)
    assert (part.raw, part.error, part.ended_ms) == ('{"a": ', "no JSON", 50)


def test_a_nudge_belongs_to_the_newest_turn_and_a_finished_step_does_not_change() -> None:
    first = [*started(), *text(0, "One."), *finished(), ev.StepFinished(0, nudge="Go on.")]
    second = [*started(), *text(1, "Two."), *finished(), ev.StepFinished(1)]
    found = [*records(*first), *records(*second, step=1, first=len(first) + 1)]
    message = fold(found)
    assert [turn.nudge for turn in message.turns] == ["Go on.", None]
    builder = Assembler()
    for record in found:
        builder.feed(record)
    assert builder.message().turns[0] is builder.message().turns[0], "a finished turn is shared"


def test_a_step_without_a_turn_and_a_run_that_fails() -> None:
    failed = ev.RunFailed(category="storage", message="the disk is full", usage=Usage())
    message = fold(records(ev.RunStarted("r"), ev.StepFinished(0, nudge="Go on."), failed))
    assert message.turns == ()
    assert message.error == ErrorInfo("storage", "the disk is full")
