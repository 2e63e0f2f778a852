"""Agents for the command line: from a model name, a small TOML file, or an object of a module."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from headrace.encoders.chat.quirks import EFFORTS
from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.mcp import MCP
from headrace.prices.context_window import find_context_window
from headrace.server.api import ModelInfo
from headrace.server.mcp_config import MCPEntry, build_entry
from headrace.server.settings import DEFAULT_AGENT
from headrace.tools import Tool
from headrace.tools.builtin import default_tools
from headrace.turn.model import is_rehearsal, name_of

DEFAULT_MODEL = "rehearsal:demo"


class AgentFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of an agent file in TOML."""

    model: str = DEFAULT_MODEL
    """The model as `provider:model`."""
    description: str | None = None
    """What the agent is for; MCP clients are told."""
    instructions: str | None = None
    """System instructions for every conversation."""
    tools: tuple[str, ...] = ("calculator", "clock", "notepad")
    """Names of the built-in tools to use."""
    options: dict[str, Any] = {}
    """Fields of `headrace.encoders.Options`, such as `effort`."""
    mcp: dict[str, MCPEntry] = {}
    """MCP servers whose tools the agent may use, by name."""


def load_agent(
    where: str | None,
    model: str | None,
    *,
    sources: Sequence[MCP] = (),
    mcp_options: Mapping[str, Any] | None = None,
) -> Agent:
    """Return the agent for an agent file or `module:name`, and a model. `sources` are MCP servers
    beside those of the agent, and `mcp_options` are arguments for those of an agent file.

    Raises `UsageError` if it cannot be built.
    """
    agent = _load(where, model, mcp_options or {})
    return agent.replace(tools=sources) if sources else agent


def load_agents(
    wheres: Sequence[str],
    models: Sequence[str],
    *,
    sources: Sequence[MCP] = (),
    mcp_options: Mapping[str, Any] | None = None,
) -> dict[str, Agent]:
    """Return the agents of a server by name: one for each agent file or `module:name`, or one for
    each model, which use the same agent file if there is one. A single agent is called `default`.

    Raises `UsageError` if one cannot be built, or two have the same name.
    """
    if len(wheres) > 1 and models:
        raise UsageError("give several agents, or one agent with several models, not both")
    wanted: list[tuple[str, str | None, str | None]]
    if len(wheres) > 1:
        wanted = [(_agent_name(where), where, None) for where in wheres]
    else:
        where = wheres[0] if wheres else None
        chosen: list[str | None] = list(models) or [None]
        wanted = [(model or DEFAULT_AGENT, where, model) for model in chosen]
    names = [name for name, _, _ in wanted]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"{twice} is given twice: each model and each agent needs its own name")
    agents = {
        name: load_agent(where, model, sources=sources, mcp_options=mcp_options)
        for name, where, model in wanted
    }
    return agents if len(agents) > 1 else {DEFAULT_AGENT: next(iter(agents.values()))}


def _agent_name(where: str) -> str:
    """Return the name of an agent: that of its file, or of its object in a module."""
    return Path(where).stem if where.endswith(".toml") else where.rpartition(":")[2]


def _load(where: str | None, model: str | None, mcp_options: Mapping[str, Any]) -> Agent:
    if where is None:
        return _build(AgentFile(model=model or DEFAULT_MODEL))
    if where.endswith(".toml"):
        file = _read_file(Path(where))
        return _build(msgspec.structs.replace(file, model=model or file.model), mcp_options)
    if model is not None:
        raise UsageError("--model cannot be combined with an agent of a module")
    return _import_agent(where)


def _read_file(path: Path) -> AgentFile:
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), AgentFile)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {error}") from None


def _build(file: AgentFile, mcp_options: Mapping[str, Any] | None = None) -> Agent:
    known: dict[str, Tool] = {tool.name: tool for tool in default_tools()}
    unknown = [name for name in file.tools if name not in known]
    if unknown:
        raise UsageError(
            f"unknown tool {', '.join(unknown)}: the built-in tools are {', '.join(known)}"
        )
    return Agent(
        file.model,
        description=file.description,
        instructions=file.instructions,
        tools=[
            *(known[name] for name in file.tools),
            *(build_entry(name, entry, mcp_options or {}) for name, entry in file.mcp.items()),
        ],
        **file.options,
    )


def _import_agent(where: str) -> Agent:
    module, colon, name = where.partition(":")
    if not colon:
        raise UsageError(f"an agent is given as file.toml or module:name, not {where!r}")
    try:
        agent: object = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{where}: {error}") from None
    if not isinstance(agent, Agent):
        raise UsageError(f"{where} is not a headrace.engine.Agent")
    return agent  # pyright: ignore[reportUnknownVariableType] (the type of its answers)


def describe_agent(name: str, agent: Agent, efforts: tuple[str, ...] = EFFORTS) -> ModelInfo:
    """Describe an agent as `GET /api/models` does."""
    model = name_of(agent.model)
    return ModelInfo(
        name=name,
        model=model,
        tools=[
            *agent.tools.names,
            *(name for source in agent.tools.sources for name in source.known_names),
        ],
        efforts=efforts,
        is_rehearsal=is_rehearsal(agent.model),
        context_window=None if is_rehearsal(agent.model) else find_context_window(model),
    )
