"""Strategies for the records of whole runs: everything that may be said, interleaved."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from headrace import events as ev
from headrace.content import ImageContent, JSONContent, TextContent
from headrace.events import Record
from headrace.outcome import END_TURN, FinishReason, abort_reason
from headrace.usage import Usage

PIECES = st.sampled_from(
    ["a", "word ", " ", "\n", "[STATUS: reading]", "[STATUS:", "[", " x]", "`", "```\n",
     "Let me check the third row. ", "**Title**\n"]
)  # fmt: skip
CALLS: st.SearchStrategy[tuple[str, Any, Any]] = st.sampled_from(
    [
        ("tides", "client", None),
        ("web_search", "provider", {"type": "web_search_call"}),
        ("code_execution", "provider", None),
        ("anything", "provider", {"type": "mcp_call"}),
        ("advisor", "provider", None),
    ]
)
CONTENT = st.sampled_from(
    [
        (),
        (TextContent("noon"),),
        (JSONContent({"a": 1}), TextContent("b")),
        (ImageContent(media_type="image/png", data="QQ=="),),
    ]
)
MOVES = st.sampled_from(
    ["open text", "open reasoning", "say", "say", "say", "close", "call", "args", "end call",
     "break call", "activity", "output", "redacted", "media", "opaque", "cite"]
)  # fmt: skip
ENDS: list[list[ev.Event]] = [
    [],
    [ev.RunFinished(END_TURN, Usage(output_tokens=1))],
    [ev.RunFinished(abort_reason("cancelled"))],
    [ev.RunFinished(abort_reason("timeout"))],
    [ev.RunFinished(abort_reason("max_iterations"))],
    [ev.RunFailed(category="server", message="broke")],
]
CLOSES: list[list[ev.Event]] = [
    [],
    [ev.RunClosed("committed", "m")],
    [ev.RunClosed("save_failed")],
    [ev.RunClosed("interrupted", "m")],
]


class _Turn:
    """Writes one turn; legal, but as wild as it may be."""

    def __init__(self, draw: st.DrawFn, first_part: int, outputs: int) -> None:
        self._draw = draw
        self.part = first_part
        self.events: list[ev.Event] = [ev.TurnStarted(dialect="xai", outputs="successive")]
        self.events += [ev.OutputStarted(number) for number in range(outputs)]
        self._outputs = outputs
        self._prose: dict[int, tuple[str, int]] = {}
        self._ended: list[int] = []
        self._calls: dict[int, tuple[str, str]] = {}
        self._begun = 0
        self.ours: list[str] = []

    def _place(self, output: int) -> dict[str, Any]:
        self.part += 1
        item_id = self._draw(st.sampled_from([None, None, "item_1", "item_2"]))
        return {"part": self.part, "output": output, "item": self.part, "item_id": item_id}

    def move(self, name: str) -> None:
        output = self._draw(st.integers(0, self._outputs - 1))
        match name:
            case "open text":
                self._close(output)
                self._prose[output] = ("text", self.part + 1)
                self.events.append(ev.TextStarted(**self._place(output)))
            case "open reasoning":
                self._close(output)
                self._prose[output] = ("reasoning", self.part + 1)
                kind: Any = self._draw(st.sampled_from(["raw", "summary"]))
                self.events.append(ev.ReasoningStarted(**self._place(output), kind=kind))
            case "say" if output in self._prose:
                kind, part = self._prose[output]
                delta = ev.TextDelta if kind == "text" else ev.ReasoningDelta
                self.events.append(delta(part, self._draw(PIECES)))
            case "close":
                self._close(output)
            case "redacted":
                self._close(output)
                self.events.append(ev.ReasoningRedacted(**self._place(output), data="x"))
            case "media":
                place = self._place(output)
                self.events.append(ev.MediaProduced(**place, media_type="image/png", data="QQ=="))
            case "opaque":
                self.events.append(ev.OpaqueItem(**self._place(output), kind="odd", data="{}"))
            case "cite":
                parts = [None, *self._ended, *(part for _, part in self._prose.values())]
                cited = self._draw(st.sampled_from(parts))
                self.events.append(ev.CitationAdded(part=cited, title="t", raw={"own": 1}))
            case _:
                self._move_call(name, output)

    def _move_call(self, name: str, output: int) -> None:
        if name == "call":
            tool, executor, data = self._draw(CALLS)
            if executor == "client" and any(who == "client" for _, who in self._calls.values()):
                return
            # As from the ledger: no two calls of a turn share an id.
            call_id = f"c{self._draw(st.integers(0, 1))}_{self._begun}"
            self._begun += 1
            place = self._place(output)
            self._calls[self.part] = (call_id, executor)
            self.events.append(
                ev.ToolCallStarted(
                    **place, call_id=call_id, name=tool, executor=executor, provider_data=data
                )
            )
            return
        if name == "output":
            ids = [call_id for call_id, who in self._calls.values() if who == "provider"]
            call_id = self._draw(st.sampled_from([*ids, "from nowhere"]))
            content, is_error = self._draw(CONTENT), self._draw(st.booleans())
            place = self._place(output)
            self.events.append(
                ev.ToolOutput(**place, call_id=call_id, content=content, is_error=is_error)
            )
            return
        if not self._calls:
            return
        part = self._draw(st.sampled_from([*self._calls]))
        call_id, executor = self._calls[part]
        if name == "args":
            self.events.append(ev.ToolCallArgsDelta(part, '{"a"'))
        elif name == "activity" and executor == "provider":
            status = self._draw(st.sampled_from(["searching", "completed", "failed"]))
            self.events.append(ev.ToolActivity(part=part, call_id=call_id, status=status))
        elif name == "end call":
            del self._calls[part]
            self.ours += [call_id] if executor == "client" else []
            self.events.append(
                ev.ToolCallFinished(part=part, call_id=call_id, name="f", args={"a": 1}, raw="{}")
            )
        elif name == "break call":
            self._break(part)

    def _break(self, part: int) -> None:
        call_id, executor = self._calls.pop(part)
        self.ours += [call_id] if executor == "client" else []
        self.events.append(
            ev.ToolCallMalformed(part=part, call_id=call_id, name="f", raw="{", error="cut")
        )

    def _close(self, output: int) -> None:
        if output not in self._prose:
            return
        kind, part = self._prose.pop(output)
        self._ended.append(part)
        finished = ev.TextFinished(part) if kind == "text" else ev.ReasoningFinished(part)
        self.events.append(finished)

    def end(self, *, is_good: bool) -> None:
        reason = self._draw(st.sampled_from([END_TURN, None])) if is_good else None
        for output in range(self._outputs):
            self._close(output)
            self.events.append(ev.OutputFinished(output, reason))
        for part in [*self._calls]:
            self._break(part)
        usage = Usage(reasoning_tokens=self._draw(st.sampled_from([None, 0, 7])))
        if is_good:
            self.events.append(ev.TurnFinished(reason=FinishReason("end_turn"), usage=usage))
        else:
            self.events.append(ev.TurnFailed(category="network", message="gone", usage=usage))


@st.composite
def runs(draw: st.DrawFn) -> list[Record]:
    """The records of a run, cut anywhere and ended any way."""
    events: list[tuple[int, ev.Event]] = [(0, ev.RunStarted("r1", effort=draw(_EFFORTS)))]
    part = -1
    for step in range(draw(st.integers(1, 3))):
        told: list[ev.Event] = [ev.StepStarted(step)]
        for is_good in [*draw(st.lists(st.just(False), max_size=1)), draw(st.booleans())]:
            turn = _Turn(draw, part, draw(st.integers(1, 2)))
            for move in draw(st.lists(MOVES, max_size=14)):
                turn.move(move)
            turn.end(is_good=is_good)
            part = turn.part
            told += turn.events
            if not is_good:
                told.append(ev.StepDiscarded(step, "again"))
                continue
            told += _tools(draw, turn.ours)
        events += [(step, event) for event in [*told, ev.StepFinished(step)]]
    events = events[: draw(st.integers(1, len(events)))] if draw(st.booleans()) else events
    ends = [*draw(st.sampled_from(ENDS)), *draw(st.sampled_from(CLOSES))]
    events += [(events[-1][0], event) for event in ends]
    return [Record(seq, seq * 37, event, (), step) for seq, (step, event) in enumerate(events, 1)]


_EFFORTS = st.sampled_from([None, "high"])


def _tools(draw: st.DrawFn, call_ids: list[str]) -> list[ev.Event]:
    events: list[ev.Event] = []
    for call_id in call_ids:
        events += [ev.ToolStarted(call_id)] if draw(st.booleans()) else []
        events += [ev.ToolProgress(call_id=call_id, status="completed", progress=0.5, log="l")]
        content, is_error = draw(CONTENT), draw(st.booleans())
        events.append(ev.ToolResult(call_id=call_id, content=content, kind="k", is_error=is_error))
    return events
