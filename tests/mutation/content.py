"""What a stream says: the text, reasoning, calls and other parts of each output."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace import events as ev


@dataclass
class OutputContent:
    """What one output says, regardless of how it is divided into parts and deltas."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    others: list[tuple[str, str]] = field(default_factory=list)


def content_of(events: Iterable[ev.TurnEvent]) -> dict[int, OutputContent]:
    """Collect what the events say, by output. Calls are those that can be run."""
    outputs: dict[int, OutputContent] = {}
    parts: dict[int, tuple[int, str, list[str]]] = {}
    for event in events:
        match event:
            case ev.TextStarted() | ev.ReasoningStarted():
                kind = "text" if isinstance(event, ev.TextStarted) else "reasoning"
                parts[event.part] = (event.output, kind, [])
            case ev.ToolCallStarted():
                parts[event.part] = (event.output, event.executor, [])
            case ev.TextDelta() | ev.ReasoningDelta():
                parts[event.part][2].append(event.text)
            case ev.ToolCallFinished():
                outputs.setdefault(parts[event.part][0], OutputContent()).calls.append(
                    (event.name, _canonical(event.args))
                )
            case ev.ReasoningRedacted() | ev.MediaProduced() | ev.OpaqueItem() | ev.ToolOutput():
                outputs.setdefault(event.output, OutputContent()).others.append(_other(event))
            case _ if type(event).__name__ == "PartRestored":
                restored: Any = event
                parts[restored.part][2][:] = [restored.text]
            case _:
                pass
    for output, kind, texts in parts.values():
        said = outputs.setdefault(output, OutputContent())
        if kind == "text":
            said.text += "".join(texts)
        elif kind == "reasoning":
            said.reasoning += "".join(texts)
    for said in outputs.values():
        # What a snapshot at the end restores comes behind the rest.
        said.calls.sort()
        said.others.sort()
    return {number: said for number, said in outputs.items() if said != OutputContent()}


def runnable_calls(events: Iterable[ev.TurnEvent]) -> list[tuple[str, str]]:
    """Return name and arguments of the calls that a client would run."""
    theirs: set[int] = set()
    calls = []
    for event in events:
        if isinstance(event, ev.ToolCallStarted) and event.executor == "provider":
            theirs.add(event.part)
        elif isinstance(event, ev.ToolCallFinished) and event.part not in theirs:
            calls.append((event.name, _canonical(event.args)))
    return calls


def is_said(events: list[ev.TurnEvent]) -> bool:
    """Return whether the end of the events says that something is missing or failed."""
    end = events[-1]
    if isinstance(end, ev.TurnFailed):
        return True
    return isinstance(end, ev.TurnFinished) and not getattr(end, "is_complete", True)


def _other(event: Any) -> tuple[str, str]:
    values = {
        name: getattr(event, name)
        for name in ("data", "url", "kind", "content")
        if hasattr(event, name)
    }
    if isinstance(event, ev.OpaqueItem):
        values["data"] = json.loads(event.data)
    return type(event).__name__, _canonical(values)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
