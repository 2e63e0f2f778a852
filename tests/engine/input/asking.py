"""Agents on scripted models that ask for input, and people who answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from headrace import events as ev
from headrace.engine import Agent, AlreadyAnswered, Run
from headrace.events import Record
from headrace.messages import CallResult, InputRequest, Message
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import NEVER
from tests.engine.play import MODELS, clock

QUESTION = "Go ahead."
Answers: TypeAlias = Callable[[InputRequest], dict[str, Any] | None]
"""Returns the arguments of `run.answer()` for a request, or None to leave it open."""


def agent_on(script: Any, *tools: Any, dialect: str = "chat", **options: Any) -> Agent[Any]:
    """Return an agent whose model plays the script: turns, a function, or a transport."""
    if not isinstance(script, ScriptedTransport):
        script = ScriptedTransport(script, dialect=dialect)
    return Agent(
        MODELS[dialect], transport=script, api_key="k", tools=tools, policy=NEVER, **options
    )


def accept(request: InputRequest) -> dict[str, Any]:
    """Approve everything, and answer all questions with a text."""
    return {"value": None if request.kind == "approval" else "yes"}


async def read(run: Run[Any], answers: Answers = accept, *, after_s: float = 1.0) -> Run[Any]:
    """Read a run to its end; each request is answered after a while."""
    loop = asyncio.get_running_loop()

    def answer(request_id: str) -> None:
        for request in run.requests:
            given = answers(request) if request.request_id == request_id else None
            if given is not None:
                with suppress(AlreadyAnswered):
                    run.answer(request_id, **given)

    async with run:
        for request in run.requests:
            loop.call_soon(answer, request.request_id)
        async for event in run:
            if isinstance(event, ev.InputRequested):
                loop.call_later(after_s, answer, event.request_id)
    return run


def play(agent: Agent[Any], answers: Answers = accept, **options: Any) -> Run[Any]:
    """Play a whole run in virtual time."""

    async def main() -> Run[Any]:
        return await read(agent.run(QUESTION, clock=clock(), **options), answers)

    return run_virtual(main())


def resume(
    agent: Agent[Any], records: Sequence[Record], answers: Answers = accept, **options: Any
) -> Run[Any]:
    """Go on with a run from its records."""

    async def main() -> Run[Any]:
        run = agent.resume(records, input=QUESTION, clock=clock(), **options)
        return await read(run, answers)

    return run_virtual(main())


def events_of(run: Run[Any], kind: Any) -> list[Any]:
    """Return the events of one kind, those of sub-agents included."""
    return [r.event for r in run.records_so_far if isinstance(r.event, kind)]


def results_of(message: Message) -> list[CallResult]:
    """Return all results of a message, in the order of the calls."""
    return [result for turn in message.turns for result in turn.results]


def texts_of(message: Message) -> list[str]:
    """Return the texts of all results of a message."""
    return ["".join(getattr(c, "text", "") for c in r.content) for r in results_of(message)]
