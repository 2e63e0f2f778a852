"""The AI SDK's stream and AG-UI over authored, recorded and suspended runs, cut anywhere."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.events import Record
from headrace.messages import ReasoningPart, TextPart, fold
from headrace.projections.ai_sdk.message import to_ui_message
from headrace.status.answer_text import remove_markers
from headrace.testing import run_virtual
from tests.authored import Stream
from tests.corpus.recorded import FRAMINGS, read, rows
from tests.dialect_streams import ANY_STREAM
from tests.engine.resume.scenes import SCENES, Player
from tests.phases.ui_order import check_ag_ui, payloads, read_ui_message
from tests.property.test_thinking import ENDINGS, ended, records_of

ENDS = ("finish", "abort")


def check(records: list[Record], *, is_over: bool = True) -> None:
    """Both protocols, whole and joined."""
    read_ui_message(payloads(records, "ai-sdk", is_over=is_over), is_over=is_over)
    check_ag_ui(payloads(records, "ag-ui", is_over=is_over), is_over=is_over)


def first_output(records: list[Record]) -> int:
    return next((r.event.output for r in records if isinstance(r.event, ev.OutputStarted)), 0)


def texts_of(records: list[Record], kind: Any) -> str:
    """The texts or the reasoning of the output that is shown."""
    message, first = fold(records), first_output(records)
    is_all = any(
        isinstance(r.event, ev.TurnStarted) and r.event.outputs == "successive" for r in records
    )
    return "".join(
        remove_markers(getattr(part, "text", ""))
        for turn in message.turns
        for part in turn.parts
        if isinstance(part, kind) and (is_all or part.output == first)
    )


@given(ANY_STREAM, st.data())
def test_any_prefix_that_ends_any_way_is_legal(stream: Stream, data: st.DataObject) -> None:
    records = records_of(stream.data, framing=stream.framing)
    cut = data.draw(st.integers(0, len(records)))
    check(records[:cut], is_over=False)
    check(ended(records[:cut], data.draw(st.sampled_from(list(ENDINGS)))))


@given(ANY_STREAM)
def test_a_message_says_what_the_records_say(stream: Stream) -> None:
    records = records_of(stream.data, framing=stream.framing)
    check_content(records)


def check_content(records: list[Record]) -> None:
    message = read_ui_message(payloads(records, "ai-sdk"))
    events = payloads(records, "ag-ui")
    for kind, name in ((TextPart, "text"), (ReasoningPart, "reasoning")):
        meant = texts_of(records, kind)
        shown = "".join(part["text"] for part in message.parts if part["type"] == name)
        wanted = f"{'TEXT' if name == 'text' else 'REASONING'}_MESSAGE_CONTENT"
        sent = "".join(event["delta"] for event in events if event["type"] == wanted)
        if not has_gap(records):
            assert shown == sent == meant
    finished = fold(records).error is None and fold(records).finish is not None
    assert (events[-1]["type"] == "RUN_FINISHED") == finished
    assert (message.error is None) == finished


def has_gap(records: list[Record]) -> bool:
    return any(isinstance(record.event, ev.PartRestored) for record in records)


@pytest.mark.skipif(not rows(), reason="the recorded streams are not here")
def test_every_recorded_stream_is_legal_and_complete() -> None:
    chance = random.Random(5)
    for row in rows():
        records = records_of(read(row), FRAMINGS[row["framing"]])
        check_content(records)
        for _ in range(3):
            check(records[: chance.randrange(len(records) + 1)], is_over=False)


async def play_out(player: Player, records: list[Record] | None = None) -> list[Record]:
    """Play a run to its end, with an answer to all that it asks whenever it is suspended."""
    records = await player.start() if records is None else await player.resume(records)
    while isinstance(records[-1].event, ev.RunSuspended):
        records = await player.resume(records)
    return records


@pytest.mark.parametrize("name", SCENES)
def test_every_stretch_of_a_run_is_a_stream_of_its_own(name: str) -> None:
    player = Player(SCENES[name], SCENES[name].choose_dialect("anthropic"), suspends=True)
    records = run_virtual(play_out(player))
    for cut in range(len(records)):
        check(records[:cut], is_over=False)
    check(records)
    whole = read_ui_message(payloads(records, "ai-sdk"))
    joined = payloads(records, "ai-sdk", joined_until=len(records))
    assert [chunk["type"] for chunk in joined[:-1]].count("start") == 1
    assert read_ui_message(joined).parts == whole.parts


@pytest.mark.parametrize("name", SCENES)
def test_a_run_that_was_killed_anywhere_goes_on_legally(name: str) -> None:
    player = Player(SCENES[name], SCENES[name].choose_dialect("anthropic"), suspends=True)
    whole = run_virtual(play_out(player))
    for cut in range(1, len(whole), 5):
        if not isinstance(whole[cut - 1].event, ev.RunFinished):
            again = Player(SCENES[name], SCENES[name].choose_dialect("anthropic"), suspends=True)
            check(run_virtual(play_out(again, whole[:cut])))


def test_the_bytes_grow_with_the_text() -> None:
    """A delta costs the same at the end of a long text as at its beginning."""
    for protocol in ("ai-sdk", "ag-ui"):
        sizes = [len(str(payloads(long_text(count), protocol))) for count in (100, 200, 400)]
        assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.01)


def long_text(count: int) -> list[Record]:
    events: list[ev.Event] = [
        ev.TurnStarted(dialect="chat"),
        ev.OutputStarted(0),
        ev.TextStarted(part=0, output=0, item=0),
        *[ev.TextDelta(0, "word ")] * count,
    ]
    return [Record(seq, seq, event) for seq, event in enumerate(events, 1)]


# --- whole messages --------------------------------------------------------------------


def plain(part: dict[str, Any]) -> Any:
    """What a part shows, without what only one of both has."""
    kind = part["type"]
    if kind == "tool" or kind.startswith("tool-"):
        name = part.get("name") or kind.removeprefix("tool-")
        shown = {key: part.get(key) for key in ("toolCallId", "state", "output", "errorText")}
        # A malformed call has no arguments.
        given = part.get("input")
        # An approval of a sub-agent is shown at its call only while it is asked for.
        asked = None if name == "research" else part.get("approval", {}).get("approved")
        return name, shown, given, asked
    if kind in ("text", "reasoning"):
        return kind, part["text"], part.get("providerMetadata")
    if kind == "data-user-message":
        return part["data"]
    return part


@pytest.mark.parametrize("name", SCENES)
def test_a_stored_message_is_what_the_stream_has_made(name: str) -> None:
    player = Player(SCENES[name], SCENES[name].choose_dialect("anthropic"), suspends=True)
    records = run_virtual(play_out(player))
    reader = read_ui_message(payloads(records, "ai-sdk"))
    whole = to_ui_message(fold(records), "msg_1")
    # What was asked for is in the stored message as its answer.
    shown = [part for part in reader.parts if part["type"] != "data-input-request"]
    assert list(map(plain, whole["parts"])) == list(map(plain, shown))
    assert whole["metadata"].items() <= reader.metadata.items()


@given(ANY_STREAM)
def test_a_stored_turn_has_the_texts_and_calls_of_the_stream(stream: Stream) -> None:
    records = records_of(stream.data, framing=stream.framing)
    reader = read_ui_message(payloads(records, "ai-sdk"))
    whole = to_ui_message(fold(records), "msg_1")

    def said(parts: list[dict[str, Any]]) -> list[Any]:
        return [plain(p)[:2] for p in parts if p["type"] in ("text", "reasoning") and p["text"]]

    if not has_gap(records):
        assert said(whole["parts"]) == said(reader.parts)
