"""Short ways to write the records of a turn or a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace import events as ev
from headrace.content import TextContent
from headrace.outcome import END_TURN, FinishReason
from headrace.usage import Usage

UNKNOWN = Usage()


def records(
    events: Iterable[ev.Event], *, pause_ms: int = 100, step: int = 0, path: tuple[str, ...] = ()
) -> list[ev.Record]:
    """Numbered from 1, a pause apart."""
    return [
        ev.Record(seq, seq * pause_ms, event, path, step) for seq, event in enumerate(events, 1)
    ]


class Turn:
    """Writes legal turn events, part by part."""

    def __init__(self, *, outputs: ev.OutputsKind = "candidates", first_part: int = 0) -> None:
        self.events: list[ev.Event] = [ev.TurnStarted(dialect="chat", outputs=outputs)]
        self._part = first_part - 1
        self._output = 0

    def output(self, number: int, role: str = "assistant") -> Turn:
        self._output = number
        self.events.append(ev.OutputStarted(number, role))
        return self

    def back_to(self, number: int) -> Turn:
        """An output that has started goes on."""
        self._output = number
        return self

    def _place(self) -> dict[str, Any]:
        self._part += 1
        return {"part": self._part, "output": self._output, "item": self._part}

    def reasoning(self, *texts: str) -> Turn:
        self.events.append(ev.ReasoningStarted(**self._place()))
        self.events += [ev.ReasoningDelta(self._part, text) for text in texts]
        self.events.append(ev.ReasoningFinished(self._part))
        return self

    def text(self, *texts: str) -> Turn:
        self.events.append(ev.TextStarted(**self._place()))
        self.events += [ev.TextDelta(self._part, text) for text in texts]
        self.events.append(ev.TextFinished(self._part))
        return self

    def call(
        self, name: str, args: Any, *, call_id: str = "c1", executor: ev.Executor = "client"
    ) -> Turn:
        self.events.append(
            ev.ToolCallStarted(**self._place(), call_id=call_id, name=name, executor=executor)
        )
        self.events.append(
            ev.ToolCallFinished(part=self._part, call_id=call_id, name=name, args=args, raw="{}")
        )
        return self

    def tool_output(self, call_id: str, text: str) -> Turn:
        self.events.append(
            ev.ToolOutput(**self._place(), call_id=call_id, content=(TextContent(text),))
        )
        return self

    def end_output(self, number: int = 0, reason: FinishReason | None = END_TURN) -> Turn:
        word = None if reason is None else reason.word
        self.events.append(ev.OutputFinished(number, reason, word))
        return self

    def end(
        self, reason: FinishReason = END_TURN, raw: str | None = "stop", usage: Usage = UNKNOWN
    ) -> list[ev.Event]:
        return [*self.events, ev.TurnFinished(reason=reason, raw_reason=raw, usage=usage)]

    def fail(self, category: Any = "incomplete") -> list[ev.Event]:
        return [*self.events, ev.TurnFailed(category=category, message="it broke")]
