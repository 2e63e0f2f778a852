"""A secret that a model, a tool or a provider says is nowhere: not in the log, the stream, the
history, the trace or the next request, however it was cut."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import events as ev
from headrace.content import FileContent, JSONContent, TextContent
from headrace.engine import Agent, JSONLinesTrace, Redaction, Run, ToolContext, ToolReturn
from headrace.engine.middleware.middleware import Middleware, RunView
from headrace.engine.middleware.redaction.secret_hider import SecretHider
from headrace.events import Record, encode_record
from headrace.messages import (
    Activity,
    CallPart,
    Citation,
    MediaPart,
    Message,
    OpaquePart,
    OutputPart,
    ReasoningPart,
    RedactedPart,
    Seal,
    TextPart,
    Turn,
)
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import ScriptedTurn, call, cut, error, refuse, say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.secrets import Mask
from headrace.tools import Tool
from headrace.transport.retry import NEVER
from tests.engine.play import MODELS, check_run, clock

SECRET = "hunter2-ünd/9"
MARK = "[redacted]"
SEAL = Seal("signature", "s")


class Log:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    async def append(self, records: Sequence[Record]) -> None:
        self.records += records


class Played:
    """One run with all its traces."""

    def __init__(self, turns: list[ScriptedTurn], dialect: str, path: Path, **options: Any) -> None:
        self.path = path
        self.heard: list[Any] = []
        self.transport = ScriptedTransport(turns, dialect=dialect)
        self.log = Log()
        self.dialect = dialect
        redaction = options.pop("redaction", None) or Redaction([SECRET])
        self.cancel_at: int | None = options.pop("cancel_at", None)
        self.agent = Agent(
            MODELS[dialect],
            transport=self.transport,
            api_key="k",
            policy=NEVER,
            tools=[Tool(self.leak)],
            middleware=[JSONLinesTrace(path), redaction],
            **options,
        )
        self.shown: list[Record] = []
        self.run = run_virtual(self._play())

    async def leak(self, words: str, context: ToolContext) -> ToolReturn:
        """Say all that there is."""
        self.heard.append(words)
        context.progress(f"reading {SECRET}", log=f"found {SECRET}")
        file = FileContent(media_type="text/plain", data=b64encode(SECRET.encode()).decode())
        content = (TextContent(f"It is {SECRET}."), JSONContent({SECRET: [SECRET]}), file)
        return ToolReturn(content=content)

    async def _play(self) -> Run:
        async with self.agent.run("Go.", clock=clock(), sink=self.log) as run:
            async for record in run.records():
                self.shown.append(record)
                if record.seq == self.cancel_at:
                    run.cancel()
        return run

    def check(self) -> None:
        """Nothing of it anywhere."""
        run = self.run
        check_run(run, self.dialect)
        assert self.shown == self.log.records == run.records_so_far
        for what in (run.messages, run.result):
            assert SECRET not in str(what)
            assert SECRET not in msgspec.json.encode(what).decode()
        for record in run.records_so_far:
            assert SECRET not in encode_record(record).decode()
        told = [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]
        assert SECRET not in str(told)
        assert SECRET not in str(self.transport.requests)
        assert b64encode(SECRET.encode()).decode() not in str(told) + str(self.transport.requests)


def leaking(pieces: list[str], args: list[str]) -> list[ScriptedTurn]:
    return [
        turn(
            think(pieces=pieces), say(pieces=pieces), call("leak", raw="".join(args), pieces=args)
        ),
        turn(say(pieces=pieces)),
    ]


def in_two(text: str, at: int) -> list[str]:
    return [text[:at], text[at:]]


@pytest.mark.parametrize("dialect", MODELS)
def test_a_secret_cut_at_every_position_is_nowhere(dialect: str, tmp_path: Path) -> None:
    text = f"say {SECRET} now"
    raw = json.dumps({"words": text}, ensure_ascii=False)
    for at in range(1, len(raw)):
        path = tmp_path / f"{at}.jsonl"
        played = Played(leaking(in_two(text, min(at, len(text))), in_two(raw, at)), dialect, path)
        played.check()
        assert played.heard == [f"say {MARK} now"]
        first, second = played.run.message.turns
        assert first.text == second.text == f"say {MARK} now"
        assert MARK in first.reasoning
        assert first.calls[0].args == {"words": f"say {MARK} now"}


@pytest.mark.parametrize("dialect", MODELS)
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 6), max_size=30), st.booleans())
def test_any_cut_hides_it(
    tmp_path_factory: Any, dialect: str, sizes: list[int], is_ascii: bool
) -> None:
    text = f"{SECRET}{SECRET[:5]} {SECRET}"
    raw = json.dumps({"words": text}, ensure_ascii=is_ascii)
    pieces: list[list[str]] = [[], []]
    for made, whole in zip(pieces, (text, raw), strict=True):
        rest = whole
        for size in sizes:
            made.append(rest[:size])
            rest = rest[size:]
        made.append(rest)
    path = tmp_path_factory.mktemp("cut") / "trace.jsonl"
    played = Played(leaking(*pieces), dialect, path)
    played.check()
    assert played.run.result.text == f"{MARK}{SECRET[:5]} {MARK}"


@pytest.mark.parametrize("dialect", MODELS)
@pytest.mark.parametrize(
    "broken", [[error("server", f"no {SECRET}")], [cut()], [refuse(400, f"no {SECRET}")]]
)
def test_errors_say_nothing_of_it(dialect: str, broken: list[Any], tmp_path: Path) -> None:
    spoken = [] if broken[0].__class__.__name__ == "Refuse" else [say(pieces=["a ", SECRET[:-1]])]
    played = Played([turn(*spoken, *broken)], dialect, tmp_path / "trace")
    played.check()
    assert played.run.result.error is not None
    if spoken:
        assert played.run.message.text == f"a {SECRET[:-1]}"


@pytest.mark.parametrize("dialect", MODELS)
def test_any_abort_hides_it_too(dialect: str, tmp_path: Path) -> None:
    text = f"say {SECRET} now"
    raw = json.dumps({"words": text})
    turns = leaking(in_two(text, 9), in_two(raw, 19))
    whole = Played(turns, dialect, tmp_path / "whole")
    for at in range(1, len(whole.run.records_so_far)):
        played = Played(turns, dialect, tmp_path / str(at), cancel_at=at)
        played.check()
        assert played.run.result.finish is not None


@pytest.mark.parametrize("dialect", MODELS)
def test_reasoning_that_says_nothing_keeps_its_seal(dialect: str, tmp_path: Path) -> None:
    turns = [turn(think("Let me think.", signed=True), call("leak", words="a")), turn("Done.")]
    played = Played(turns, dialect, tmp_path / "trace")
    sealed = [p for t in played.run.message.turns for p in t.parts if getattr(p, "seals", ())]
    assert sealed
    thought = turn(think(f"It is {SECRET}.", signed=True), call("leak", words="a"))
    played = Played([thought, turn("Done.")], dialect, tmp_path / "other")
    played.check()
    assert not any(getattr(part, "seals", ()) for part in played.run.message.turns[0].parts)


def test_text_is_told_as_soon_as_it_can_be(tmp_path: Path) -> None:
    pieces = ["He", "llo, ", "hunt", "ing "]
    played = Played(
        [turn(say(pieces=pieces))], "chat", tmp_path / "trace", redaction=Redaction([SECRET], ())
    )
    deltas = [r.event.text for r in played.run.records_so_far if isinstance(r.event, ev.TextDelta)]
    assert deltas == ["He", "llo, ", "hunting "]


def test_what_is_no_json_any_more_is_not_run(tmp_path: Path) -> None:
    turns = [turn(call("leak", raw='{"words": 12345678}')), turn("Done.")]
    played = Played(turns, "chat", tmp_path / "trace", redaction=Redaction(["12345678"]))
    assert played.heard == []
    (part,) = played.run.message.turns[0].calls
    assert part.error is not None
    assert "12345678" not in str(played.run.records_so_far)
    check_run(played.run, "chat")


def test_what_is_asked_is_redacted_where_that_is_wanted(tmp_path: Path) -> None:
    for is_wanted in (False, True):
        transport = ScriptedTransport(["Yes."])
        redaction = Redaction([SECRET], redacts_requests=is_wanted)
        agent = Agent(
            MODELS["chat"],
            transport=transport,
            api_key="k",
            instructions=f"I {SECRET}",
            middleware=[redaction],
        )
        asyncio.run(agent.complete_async(f"Is {SECRET} safe?", [_answer()]))
        assert (SECRET in str(transport.requests)) is not is_wanted


class LeaveOutStarts(Middleware):
    """Leaves out the start of every part, so that redaction gets ends without a start."""

    def rewrite_event(self, run: RunView, event: ev.Event) -> ev.Event | None:
        starts = ev.TextStarted | ev.ReasoningStarted | ev.ToolCallStarted
        return None if isinstance(event, starts) else event


@pytest.mark.parametrize("dialect", MODELS)
def test_parts_that_an_earlier_middleware_left_out_do_not_fail_the_run(dialect: str) -> None:
    said = turn(think(f"Not {SECRET}."), say(f"It is {SECRET}."), call("leak", words=SECRET))
    agent = Agent(
        MODELS[dialect],
        transport=ScriptedTransport([said], dialect=dialect),
        api_key="k",
        middleware=[LeaveOutStarts(), Redaction([SECRET])],
    )
    with agent.run("Go.") as run:
        for _ in run:
            pass
    assert run.result.error is None
    assert run.message.turns[0].parts == ()
    assert SECRET not in str(run.records_so_far)


class Nudge(Middleware):
    """Asks once to go on, with a secret."""

    def __init__(self) -> None:
        self._words = [f"Not {SECRET}, please."]

    def on_turn_end(self, run: RunView, turn: Turn) -> str | None:
        return self._words.pop() if self._words else None


@pytest.mark.parametrize("is_wanted", [False, True])
def test_what_a_hook_tells_the_model_is_searched_like_all_else(is_wanted: bool) -> None:
    transport, log = ScriptedTransport(["One.", "Two."]), Log()
    redaction = Redaction([SECRET], redacts_requests=is_wanted)
    agent = Agent(MODELS["chat"], transport=transport, api_key="k", middleware=[Nudge(), redaction])

    async def play() -> Run:
        async with agent.run("Go.", sink=log) as run:
            async for _ in run:
                pass
        return run

    run = asyncio.run(play())
    assert f"Not {MARK}, please." in str(transport.requests)
    for what in (transport.requests, log.records, run.messages, run.result):
        assert SECRET not in str(what)


WORDS = Mask((SECRET,), (), MARK)


def test_every_word_of_a_message_is_searched() -> None:
    place: dict[str, Any] = {"part": 0, "output": 0, "item": 0, "started_ms": 0}
    cited = (Citation(source=SECRET, ref=SECRET, title=SECRET, quote=SECRET, raw={"a": [SECRET]}),)
    message = Message(
        role="assistant",
        turns=(
            Turn(
                parts=(
                    TextPart(**place, text="a", citations=cited),
                    ReasoningPart(**place, text="a", citations=cited, seals=(SEAL,)),
                    CallPart(**place, call_id="c", name="f", raw="{", error=f"is {SECRET}"),
                    CallPart(
                        **place,
                        call_id="d",
                        name=f"f_{SECRET}",
                        activities=(Activity(0, SECRET, {"a": SECRET}),),
                        provider_data={"a": SECRET},
                        seals=(Seal(SEAL.kind, SECRET),),
                    ),
                    RedactedPart(**place, data=SECRET, provider_data={"a": SECRET}),
                    OutputPart(**place, call_id="d", content=(), provider_data={"a": SECRET}),
                    OpaquePart(**place, kind="x", data=f'{{"a": "{SECRET}"}}'),
                    MediaPart(**place, media_type="image/png", url=f"https://x/?k={SECRET}"),
                ),
                citations=cited,
                nudge=f"Not {SECRET}",
                provider_data={"a": SECRET},
            ),
        ),
    )
    made = SecretHider(WORDS, WORDS).hide(message)
    assert "hunter2" not in str(made)
    (turn,) = made.turns
    assert turn.nudge == f"Not {MARK}"
    assert turn.citations[0].raw == {"a": [MARK]}
    # Its text is as it was sealed.
    assert turn.parts[1].seals == (SEAL,)


def test_a_message_without_secrets_stays_itself() -> None:
    cited = (Citation(title="Tides", raw={"a": ["b"]}),)
    message = Message(role="assistant", turns=(Turn(citations=cited, nudge="Go on."),))
    assert SecretHider(WORDS, WORDS).hide(message) is message


def _answer() -> Message:
    transport = ScriptedTransport([turn(think(SECRET), say(SECRET), call("x", key=SECRET))])
    agent = Agent(MODELS["chat"], transport=transport, api_key="k")
    with agent.run("Go.") as run:
        for _ in run:
            if run.message.calls and run.message.calls[0].ended_ms is not None:
                break
    return run.message


# --- events that no script plays -------------------------------------------------------


def rewritten(*events: ev.Event, redaction: Redaction | None = None) -> list[Any]:
    redaction = redaction or Redaction([SECRET])
    view = RunView("run", "model")
    made: list[Any] = []
    for event in events:
        answer = redaction.rewrite_event(view, event)
        made += answer if isinstance(answer, list) else [answer] if answer is not None else []
    return made


@pytest.mark.parametrize(
    "event",
    [
        ev.ReasoningRedacted(part=0, output=0, item=0, data=f"x{SECRET}"),
        ev.PartSealed(0, "encrypted", f"x{SECRET}"),
        ev.OpaqueItem(part=0, output=0, item=0, kind="odd", data=json.dumps({"a": SECRET})),
        ev.MediaProduced(part=0, output=0, item=0, media_type="image/png", url=f"x?k={SECRET}"),
        ev.ToolActivity(part=0, call_id="c", status=SECRET, detail={"q": [SECRET]}),
        ev.ToolOutput(part=0, output=0, item=0, call_id="c", content=(TextContent(SECRET),)),
        ev.ToolStarted("c", {"a": SECRET}),
        ev.CitationAdded(title=SECRET, quote=SECRET, source=SECRET, ref=SECRET, raw={"a": SECRET}),
        ev.TurnFailed(category="server", message=SECRET, code=SECRET),
        ev.RunFailed(category="unknown", message=SECRET),
        ev.StepDiscarded(0, SECRET),
        ev.StepFinished(0, f"Not {SECRET}, please."),
        ev.ReasoningFinished(0, signature=SECRET),
    ],
    ids=lambda event: type(event).__name__,
)
def test_every_event_is_searched(event: ev.Event) -> None:
    assert "hunter2" in str(event)
    assert "hunter2" not in str(rewritten(event))


def test_an_event_without_secrets_stays_itself() -> None:
    event = ev.ToolStarted("c", {"a": [1, None, "x"]})
    assert rewritten(event)[0] is event


def test_a_citation_points_to_where_the_words_are_now() -> None:
    started = ev.TextStarted(part=0, output=0, item=0)
    cited = ev.CitationAdded(part=0, start=len(SECRET) + 1, end=len(SECRET) + 6)
    made = rewritten(
        started,
        ev.TextDelta(0, f"{SECRET} tides h"),
        cited,
        ev.TextFinished(0),
    )
    text = "".join(e.text for e in made if isinstance(e, ev.TextDelta))
    (citation,) = [e for e in made if isinstance(e, ev.CitationAdded)]
    assert text == f"{MARK} tides h"
    assert text[citation.start : citation.end] == "tides"


def test_parts_and_runs_do_not_mix() -> None:
    redaction = Redaction([SECRET])
    first, second = SECRET[:6], SECRET[6:]
    events: list[ev.Event] = [
        ev.TextStarted(part=0, output=0, item=0),
        ev.TextStarted(part=1, output=1, item=1),
        ev.TextDelta(0, first),
        ev.TextDelta(1, "b " + second),
        ev.TextDelta(0, second),
        ev.TextFinished(0),
        ev.TextFinished(1),
    ]
    made = rewritten(*events, redaction=redaction)
    by_part = [
        "".join(e.text for e in made if isinstance(e, ev.TextDelta) and e.part == part)
        for part in (0, 1)
    ]
    assert by_part == [MARK, f"b {second}"]
    assert rewritten(*events, redaction=redaction) == made
