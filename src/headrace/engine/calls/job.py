"""Calls that run, and what they report."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headrace.engine.middleware.middleware import Ask, ToolCall
from headrace.engine.nested.nesting import Nesting
from headrace.events import Event, InputAnswered
from headrace.messages import CallPart
from headrace.tools import ExternalTool, Tool, ToolContext, ToolReturn


@dataclass(eq=False)
class Report:
    """Events to be written. What they are about goes on when they have been written."""

    events: Sequence[Event]
    path: tuple[str, ...] | None = None
    """Where the events belong, if that is a nested run."""
    step: int | None = None
    written: asyncio.Future[None] | None = field(default=None, repr=False)


@dataclass(eq=False)
class Job:
    """One call, from its start to its result."""

    call: ToolCall
    tool: Tool | ExternalTool | None
    """The tool, or None if the provider runs it and asks whether it may."""
    ask: Ask | None = None
    provider_call: CallPart | None = None
    """The call, if the provider runs it."""
    task: asyncio.Task[None] | None = None
    context: ToolContext | None = None
    nesting: Nesting | None = None
    timer: asyncio.Timeout | None = None
    waits_for: asyncio.Future[InputAnswered] | None = None
    """The answer that the call waits for while nothing of it runs."""
    questions: int = 0
    """How many questions the tool has asked while it ran."""
    has_started: bool = False
    result: ToolReturn | None = None

    @property
    def is_waiting(self) -> bool:
        if self.nesting is not None:
            return self.nesting.is_waiting()
        return self.waits_for is not None and not self.waits_for.done()


class Ended(NamedTuple):
    """The end of a call."""

    call_id: str
    result: ToolReturn | None
