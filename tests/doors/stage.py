"""A server with an agent and a gateway in front of scripted providers, for real clients.

The scripted models do what the last message of the user says; see `_SCRIPTS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace import tool
from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import (
    ScriptedTurn,
    call,
    cut,
    error,
    finish,
    redacted,
    refuse,
    say,
    think,
    turn,
    usage,
    wait,
)
from headrace.rehearsal.transport import ScriptedStream, ScriptedTransport
from headrace.server import create_app
from headrace.server.gateway import Gateway, GatewayConfig
from headrace.server.gateway.config import GatewayModel, GatewayProvider
from headrace.server.service import Service
from headrace.transport.retry import NEVER
from headrace.transport.transport import HTTPCall
from tests.server.serving import running

MODELS = {
    "gpt": "openai-chat:gpt-test",
    "claude": "anthropic:claude-sonnet-4-5",
    "gemini": "gemini:gemini-3-pro",
    "o-model": "openai:gpt-5",
    "reasoner": "deepseek:deepseek-reasoner",
    "command": "cohere:command-a-reasoning-08-2025",
    "local": "ollama:qwen3",
}
"""The names of the gateway's models, of six grammars; `reasoner` has that of `gpt`, with fields of
its own for reasoning."""
_DIALECTS = {
    "/messages": "anthropic",
    ":streamGenerateContent": "gemini",
    "/responses": "responses",
    "/v2/chat": "cohere",
    "/api/chat": "ollama",
}


def _answer_calls(heard: Heard, first: ScriptedTurn) -> ScriptedTurn:
    """Make the calls of a turn, and then say what came back."""
    results = [message.result.text for message in heard.since_user if message.result]
    return turn(say(f"Found: {', '.join(results)}.")) if results else first


_SCRIPTS: dict[str, Callable[[Heard], Any]] = {
    "text": lambda heard: turn(say("Hello from the script."), usage(11, 7, cached=3)),
    "think": lambda heard: turn(think("Let me see."), say("Done."), usage(11, 9, reasoning=4)),
    "hidden": lambda heard: turn(redacted("secret"), say("Done.")),
    "tool": lambda heard: _answer_calls(
        heard, turn(think("I must look."), call("tides", {"day": "today"}, deltas=4))
    ),
    "parallel": lambda heard: _answer_calls(
        heard,
        turn(
            say("Two at once."),
            call("tides", {"day": "today"}, deltas=3),
            call("tides", {"day": "tomorrow"}, deltas=3),
        ),
    ),
    "schema": lambda heard: turn(say('{"city":"Oslo","people":700000}')),
    "length": lambda heard: turn(say("Cut sho"), finish("max_tokens")),
    "filter": lambda heard: turn(say("I will"), finish("content_filter")),
    "refuse": lambda heard: turn(refuse(429, "Too many.", retry_after_s=7)),
    "overflow": lambda heard: turn(refuse(400, "Too long.", category="context_overflow")),
    "error": lambda heard: turn(say("Half an "), error("overloaded", "Busy.")),
    "cut": lambda heard: turn(say("Half an "), cut()),
    "slow": lambda heard: turn(say("One "), wait(30), say("two")),
    "silent": lambda heard: turn(wait(30), say("late")),
    "late": lambda heard: turn(wait(0.3), error("overloaded", "Busy.")),
    "ask": lambda heard: _answer_calls(heard, turn(call("launch", {}))),
}


def _play(heard: Heard) -> Any:
    said = [message.text for message in heard.messages if message.role == "user" and message.text]
    return _SCRIPTS[said[-1].split()[0]](heard)


class ScriptedProviders:
    """One scripted transport for each dialect, chosen by the address of a call."""

    def __init__(self) -> None:
        self.calls: list[HTTPCall] = []
        self.by_dialect = {
            dialect: ScriptedTransport(_play, dialect=dialect)
            for dialect in ("chat", *_DIALECTS.values())
        }

    async def open(self, call: HTTPCall) -> ScriptedStream:
        self.calls.append(call)
        address = call.url.partition("?")[0]
        dialect = next((d for end, d in _DIALECTS.items() if address.endswith(end)), "chat")
        return await self.by_dialect[dialect].open(call)

    async def aclose(self) -> None:
        pass

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All bodies that were received, by dialect."""
        return [body for script in self.by_dialect.values() for body in script.requests]

    @property
    def open_streams(self) -> int:
        return sum(script.open_streams for script in self.by_dialect.values())


@dataclass
class Stage:
    """The server, and what its providers have received."""

    url: str
    service: Service
    providers: ScriptedProviders
    ran: list[str]
    """The days that the agent's own tool was called with."""

    async def until_idle(self) -> None:
        """Wait until no answer is written and no provider is read."""
        while self.service.unstored.count or self.providers.open_streams:
            await asyncio.sleep(0.005)

    async def usage_rows(self) -> list[dict[str, Any]]:
        """The stored usage rows."""
        rows = await self.service.database.fetch("SELECT * FROM usage_rows ORDER BY id")
        return [dict(row) for row in rows]


@asynccontextmanager
async def stage(data: Path, **settings: Any) -> AsyncGenerator[Stage, None]:
    """Serve until the block is left."""
    providers = ScriptedProviders()
    ran: list[str] = []

    @tool
    def tides(day: str) -> str:
        """Tell when the tide is high."""
        ran.append(day)
        return f"noon {day}"

    @tool(needs_approval=True)
    def launch() -> str:
        """Launch the rocket."""
        ran.append("launched")
        return "launched"

    agent = Agent(
        "openai-chat:gpt-test",
        transport=providers,
        api_key="k",
        tools=[tides, launch],
        policy=NEVER,
        instructions="Be kind.",
    )
    app = create_app({"helper": agent}, data=data, **settings)
    service: Service = app.state.service
    names = {name.partition(":")[0] for name in MODELS.values()}
    config = GatewayConfig(
        models={name: GatewayModel(model=model) for name, model in MODELS.items()},
        providers={name: GatewayProvider(api_key_env="KEY", attempts=1) for name in names},
    )
    service.gateway = Gateway(config, environ={"KEY": "secret-key"}, transport=providers)
    async with running(app) as url:
        yield Stage(url, service, providers, ran)
