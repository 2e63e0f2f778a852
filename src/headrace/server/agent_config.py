"""Agents for the command line: from a model name, a small TOML file, or an object of a module."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from headrace.encoders.chat.quirks import EFFORTS
from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.server.api import ModelInfo
from headrace.tools import Tool
from headrace.tools.builtin import default_tools
from headrace.turn.model import is_rehearsal, name_of

DEFAULT_MODEL = "rehearsal:demo"


class AgentFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of an agent file in TOML."""

    model: str = DEFAULT_MODEL
    """The model as `provider:model`."""
    instructions: str | None = None
    """System instructions for every conversation."""
    tools: tuple[str, ...] = ("calculator", "clock", "notepad")
    """Names of the built-in tools to use."""
    options: dict[str, Any] = {}
    """Fields of `headrace.encoders.Options`, such as `effort`."""


def load_agent(where: str | None, model: str | None) -> Agent:
    """Return the agent for an agent file or `module:name`, and a model.

    Raises `UsageError` if it cannot be built.
    """
    if where is None:
        return _build(AgentFile(model=model or DEFAULT_MODEL))
    if where.endswith(".toml"):
        file = _read_file(Path(where))
        return _build(msgspec.structs.replace(file, model=model or file.model))
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


def _build(file: AgentFile) -> Agent:
    known: dict[str, Tool] = {tool.name: tool for tool in default_tools()}
    unknown = [name for name in file.tools if name not in known]
    if unknown:
        raise UsageError(
            f"unknown tool {', '.join(unknown)}: the built-in tools are {', '.join(known)}"
        )
    return Agent(
        file.model,
        instructions=file.instructions,
        tools=[known[name] for name in file.tools],
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
    return ModelInfo(
        name=name,
        model=name_of(agent.model),
        tools=list(agent.tools.names),
        efforts=efforts,
        is_rehearsal=is_rehearsal(agent.model),
    )
