"""Which agent a server serves: a model string, a small TOML file, or an object of a module."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.tools import Tool
from headrace.tools.builtin import default_tools

DEFAULT_MODEL = "rehearsal:demo"


class AgentFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a TOML file may say."""

    model: str = DEFAULT_MODEL
    instructions: str | None = None
    tools: tuple[str, ...] = ("calculator", "clock", "notepad")
    """Of the tools that come along, those to have."""
    options: dict[str, Any] = {}
    """Those of `headrace.encoders.Options`, such as effort."""


def agent_from(where: str | None, model: str | None) -> Agent:
    """The agent that was asked for. Raises `UsageError`, which says what is wrong."""
    if where is None:
        return _made(AgentFile(model=model or DEFAULT_MODEL))
    if where.endswith(".toml"):
        described = _read(Path(where))
        return _made(msgspec.structs.replace(described, model=model or described.model))
    if model is not None:
        raise UsageError("--model goes with a TOML file or alone, not with a module")
    return _imported(where)


def _read(path: Path) -> AgentFile:
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), AgentFile)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {error}") from None


def _made(described: AgentFile) -> Agent:
    known: dict[str, Tool] = {tool.name: tool for tool in default_tools()}
    unknown = [name for name in described.tools if name not in known]
    if unknown:
        raise UsageError(f"no tool {', '.join(unknown)}: there are {', '.join(known)}")
    return Agent(
        described.model,
        instructions=described.instructions,
        tools=[known[name] for name in described.tools],
        **described.options,
    )


def _imported(where: str) -> Agent:
    module, colon, name = where.partition(":")
    if not colon:
        raise UsageError(f"an agent is a file.toml or module:name, not {where!r}")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{where}: {error}") from None
    if not isinstance(found, Agent):
        raise UsageError(f"{where} is no headrace.engine.Agent")
    return found
