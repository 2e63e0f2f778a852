"""What it costs to list, open, search and export a long conversation, over the server's own API.

Each is measured with half of the messages too: the time should grow as what is shown does.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeAlias

import httpx

from bench.goal import MAX_PER_DOUBLING, Goal
from headrace.engine import Agent
from headrace.server import create_app
from tests.server.filled import fill_conversation

MESSAGES = 1_000
_ROUNDS = 9
_WORDS = "the turbine hall needs a survey of its intake screens before the spring flood " * 4
_PATH = "/api/conversations/conv_0"
_Action: TypeAlias = Callable[[httpx.AsyncClient], Awaitable[None]]


@dataclass
class ConversationCost:
    """The CPU time of one action, with half of the messages and with all of them."""

    name: str
    half_ms: float
    whole_ms: float

    @property
    def per_doubling(self) -> float:
        return self.whole_ms / self.half_ms


def conversations(tell: Callable[[str], None], *, is_quick: bool = False) -> list[ConversationCost]:
    """Measure all actions."""
    messages, rounds = (MESSAGES // 10, 3) if is_quick else (MESSAGES, _ROUNDS)
    tell(f"conversations: {messages // 2:,} and {messages:,} messages")
    half, whole = (asyncio.run(_measure(count, rounds)) for count in (messages // 2, messages))
    return [ConversationCost(name, half[name], whole[name]) for name in whole]


async def _measure(messages: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        texts = [f"{number} {_WORDS}" for number in range(messages // 2)]
        await asyncio.to_thread(fill_conversation, data, *texts, has_answers=True)
        app = create_app(Agent("rehearsal:demo"), data=data)
        transport = httpx.ASGITransport(app)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as web:
                return {name: await _time_ms(act, web, rounds) for name, act in _ACTIONS.items()}
        finally:
            await app.state.service.close()


async def _time_ms(act: _Action, web: httpx.AsyncClient, rounds: int) -> float:
    await act(web)
    costs: list[float] = []
    for _ in range(rounds):
        start_s = time.process_time()
        await act(web)
        costs.append(time.process_time() - start_s)
    return median(costs) * 1000


async def _list(web: httpx.AsyncClient) -> None:
    (await web.get("/api/conversations")).raise_for_status()


async def _open_newest(web: httpx.AsyncClient) -> None:
    (await web.get(_PATH)).raise_for_status()


async def _open_all(web: httpx.AsyncClient) -> None:
    """Read page after page, as scrolling up does."""
    earlier: str | None = ""
    while earlier is not None:
        page = await web.get(_PATH, params={"before": earlier} if earlier else {})
        earlier = page.raise_for_status().json()["earlier"]


async def _search(web: httpx.AsyncClient) -> None:
    (await web.get("/api/conversations", params={"q": "intake"})).raise_for_status()


async def _export(web: httpx.AsyncClient) -> None:
    (await web.get(f"{_PATH}/export")).raise_for_status()


_ACTIONS: dict[str, _Action] = {
    "list": _list,
    "open, newest page": _open_newest,
    "open, all pages": _open_all,
    "search": _search,
    "export": _export,
}


def conversation_goals(costs: list[ConversationCost]) -> list[Goal]:
    """What is shown doubles at most, and so may the time."""
    return [
        Goal(f"conversation of {MESSAGES:,}, {cost.name}, per doubling", cost.per_doubling,
             MAX_PER_DOUBLING)
        for cost in costs
    ]  # fmt: skip


def conversation_section(costs: list[ConversationCost]) -> str:
    """Return the table."""
    lines = [
        f"### A conversation of {MESSAGES:,} messages",
        "",
        "CPU time of requests to the server's API, in its own process.",
        "",
        f"| ms | {MESSAGES // 2:,} messages | {MESSAGES:,} messages | per doubling |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {cost.name} | {cost.half_ms:.1f} | {cost.whole_ms:.1f} | {cost.per_doubling:.2f} |"
        for cost in costs
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    measured = conversations(print)
    print(conversation_section(measured), "", *conversation_goals(measured), sep="\n")
