"""What holds a key shows none, however it is printed: in a log, a traceback or by rich."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import msgspec
import pytest

import headrace

CANARY = "sk-CANARY-0123456789"
_HOLDS_A_KEY = re.compile(r"headers|authorization|credential|api_key|password|secret|(?:^|_)token$")
NO_SECRETS = {
    # Headers that every request to a provider has: the catalog's, and public.
    "headrace.providers.provider.Provider",
    # A token of text, as models count them.
    "headrace.wire.dialects.xai.chunk.WireLogProb",
    "headrace.wire.dialects.xai.chunk.WireTopLogProb",
    # The name of an environment variable, not its value.
    "headrace.server.gateway.config.GatewayProvider",
    # Whether a token is needed, not the token.
    "headrace.server.settings.Settings",
    # The size of headers, not the headers.
    "headrace.wire.limits.WireLimits",
}


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(headrace.__path__, "headrace."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def holders() -> dict[str, type[msgspec.Struct]]:
    """Every struct of the package with a field that is named like a key's."""
    kinds = {
        kind
        for module in modules()
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__.startswith("headrace.")
        and any(map(_HOLDS_A_KEY.search, kind.__struct_fields__))
    }
    return {f"{kind.__module__}.{kind.__qualname__}": kind for kind in kinds}


HOLDERS = holders()


def holding(kind: type[msgspec.Struct]) -> msgspec.Struct:
    """One of it with a key in every field that could hold one."""
    return kind(**{name: _value(name) for name in kind.__struct_fields__})


def _value(field: str) -> Any:
    if field == "url":
        return f"https://me:{CANARY}/{CANARY}@example.com/v1/chat?key={CANARY}"
    if not _HOLDS_A_KEY.search(field):
        return MagicMock()
    return {"authorization": f"Bearer {CANARY}"} if "headers" in field else CANARY


def test_those_that_hold_keys_are_found() -> None:
    assert {
        "headrace.providers.endpoint.Endpoint",
        "headrace.transport.transport.HTTPCall",
    } <= HOLDERS.keys()
    assert HOLDERS.keys() >= NO_SECRETS


@pytest.mark.parametrize("name", sorted(HOLDERS.keys() - NO_SECRETS))
def test_a_key_is_never_shown(name: str) -> None:
    held: Any = holding(HOLDERS[name])
    shown = [repr(held), str(held), f"{held}", repr([held]), str(list(held.__rich_repr__()))]
    assert not [text for text in shown if "CANARY" in text]
