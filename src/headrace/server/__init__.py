"""The server: an HTTP API and web UI for agents, whose runs go on when clients disconnect."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.server.app import create_app
    from headrace.server.settings import Settings

__all__ = ["Settings", "create_app"]
_MODULES = {"Settings": "headrace.server.settings", "create_app": "headrace.server.app"}


def __getattr__(name: str) -> Any:
    """Import on first use: the storage and the API structs work without Starlette."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        text = f"the server needs {missing}: pip install 'headrace[server]'"
        raise ImportError(text, name=error.name) from error
