"""The spans of runs with tools, sub-agents, approvals and kills."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from headrace import events as ev
from headrace.engine import Middleware, RunView
from headrace.events import Record
from headrace.messages import Turn
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import say, turn
from tests.engine.input.asking import agent_on
from tests.engine.resume.scenes import SCENES, Player, through_json
from tests.otel.traced import TracedPlayer, Traces, check_same, check_trees, own_id, parent_id

_NAMES = list(SCENES)


def _dialect(name: str) -> str:
    return SCENES[name].choose_dialect("chat")


def _tree(spans: Sequence[ReadableSpan]) -> list[str]:
    """The names of the spans in the order of their start, indented by depth."""
    known = {own_id(span): span for span in spans}

    def depth(span: ReadableSpan) -> int:
        above = known.get(parent_id(span) or "")
        return 0 if above is None else depth(above) + 1

    ordered = sorted(spans, key=lambda span: span.start_time or 0)
    return ["  " * depth(span) + span.name for span in ordered]


@pytest.mark.parametrize("on_all", [False, True])
@pytest.mark.parametrize("name", _NAMES)
def test_a_run_is_one_tree_that_its_records_give_again(name: str, on_all: bool) -> None:
    traces = Traces()
    player = TracedPlayer(SCENES[name], _dialect(name), traces, on_all=on_all)
    records = run_virtual(player.start())
    check_trees(traces.spans, stretches=1)
    check_same(traces.spans, through_json(records))


def test_sub_agents_are_children_of_their_calls() -> None:
    traces = Traces(agent_name="planner")
    run_virtual(TracedPlayer(SCENES["sub-agents"], "chat", traces).start())
    nested = [
        "    invoke_agent research",
        "      chat gpt-5",
        "      execute_tool look",
        "      execute_tool pay",
        "      chat gpt-5",
        "      execute_tool add",
        "      chat gpt-5",
    ]
    top = ["invoke_agent planner", "  chat gpt-5", "  chat gpt-5", "  execute_tool add"]
    calls = ["  execute_tool research"] * 2
    assert sorted(_tree(traces.spans)) == sorted([*top, *calls, *nested, *nested])


@pytest.mark.parametrize("name", _NAMES)
def test_a_run_that_waits_has_a_tree_for_each_stretch(name: str) -> None:
    scene, dialect = SCENES[name], _dialect(name)
    traces = Traces()
    records = run_virtual(TracedPlayer(scene, dialect, traces, suspends=True).start())
    stretches = 1
    while isinstance(records[-1].event, ev.RunSuspended):
        stretches += 1
        player = TracedPlayer(scene, dialect, traces, suspends=True)
        records = run_virtual(player.resume(through_json(records)))
    check_trees(traces.spans, stretches=stretches)
    check_same(traces.spans, records)
    assert stretches > 1 or "approvals" not in name


@pytest.mark.parametrize("name", _NAMES)
def test_the_spans_of_a_killed_process_are_made_by_the_one_that_continues(name: str) -> None:
    scene, dialect = SCENES[name], _dialect(name)
    whole = run_virtual(TracedPlayer(scene, dialect, Traces()).start())
    for stop in range(1, len(whole)):
        # Nothing that the killed process has recorded was exported.
        traces = Traces()
        before = through_json(whole[:stop])
        after = run_virtual(TracedPlayer(scene, dialect, traces).resume(before))
        check_trees(traces.spans, stretches=2)
        check_same(traces.spans, after)


@pytest.mark.parametrize("name", ["tools", "sub-agents"])
def test_killed_twice(name: str) -> None:
    scene = SCENES[name]
    first = run_virtual(TracedPlayer(scene, "chat", Traces()).start())
    before: list[Record] = first[: len(first) // 3]
    second = run_virtual(TracedPlayer(scene, "chat", Traces()).resume(before))
    kept = second[: (len(before) + len(second)) // 2]
    traces = Traces()
    third = run_virtual(TracedPlayer(scene, "chat", traces).resume(through_json(kept)))
    # The second process has made the spans of the first one.
    roots = [span for span in traces.spans if span.parent is None]
    assert len(roots) == 2
    ids = {own_id(span) for span in traces.spans}
    resumed = [r.event for r in third if isinstance(r.event, ev.RunResumed)]
    assert [isinstance(e.trace, ev.TraceIds) and e.trace.span_id in ids for e in resumed] == [
        True,
        True,
    ]


def test_with_other_ids_a_lost_stretch_is_in_the_trace_that_was_recorded() -> None:
    """The SDK of an application gives random ids; the lost span is then the parent."""
    scene = SCENES["tools"]
    whole = run_virtual(TracedPlayer(scene, "chat", Traces(has_recorded_ids=False)).start())
    start = whole[0].event
    assert isinstance(start, ev.RunStarted)
    assert isinstance(start.trace, ev.TraceIds)
    traces = Traces(has_recorded_ids=False)
    run_virtual(TracedPlayer(scene, "chat", traces).resume(whole[: len(whole) // 2]))
    lost = [s for s in traces.spans if parent_id(s) == start.trace.span_id]
    assert [span.name for span in lost] == ["invoke_agent"]
    later = [s for s in traces.spans if s.parent is None]
    assert [link.context.span_id for span in later for link in span.links] == [
        int(start.trace.span_id, 16)
    ]


def test_a_run_that_was_not_traced_before_it_was_killed_has_no_spans_of_that_time() -> None:
    scene = SCENES["tools"]
    whole = run_virtual(Player(scene, "chat").start())
    traces = Traces()
    run_virtual(TracedPlayer(scene, "chat", traces).resume(whole[: len(whole) // 2]))
    (root,) = check_trees(traces.spans, stretches=1)
    assert root.attributes is not None
    assert root.attributes["headrace.run.epoch"] == 1


def test_turns_within_one_millisecond_are_told_apart() -> None:
    """Deltas of the same millisecond are looked at once, but never those of another turn."""

    class GoOn(Middleware):
        def on_turn_end(self, run: RunView, turn: Turn) -> str | None:
            return "Go on." if run.step == 0 else None

    traces = Traces()
    agent = agent_on([turn(say("One.")), turn(say("Two."))], middleware=[traces.telemetry, GoOn()])
    with agent.run("Go.", clock=lambda: 1_000.0) as run:
        assert list(run)
    chats = [span for span in traces.spans if span.name.startswith("chat")]
    first = "headrace.response.time_to_first_text"
    assert [(span.attributes or {}).get(first) for span in chats] == [0.0, 0.0]
    check_same(traces.spans, run.records_so_far)
