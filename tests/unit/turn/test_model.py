"""Models: what is told of them before they are asked."""

from __future__ import annotations

import pytest

from headrace.providers import CATALOG
from headrace.rehearsal.script import say, turn
from headrace.testing import ScriptedTransport
from headrace.turn.model import is_rehearsal, model_for, name_of


@pytest.mark.parametrize("provider", CATALOG)
def test_only_a_provider_that_is_played_is_a_rehearsal(provider: str) -> None:
    assert is_rehearsal(f"{provider}:m") == (CATALOG[provider].transport == "rehearsal")


@pytest.mark.parametrize("name", ["", "replay", "rehearsal-like:m", "a stream", "nowhere:m"])
def test_what_names_no_provider_is_no_rehearsal(name: str) -> None:
    assert not is_rehearsal(name)
    assert name_of(name) == name


@pytest.mark.parametrize("name", ["rehearsal:demo", "vllm:m"])
def test_a_model_and_its_name_are_told_alike(name: str) -> None:
    model = model_for(name, base_url="http://h", transport=ScriptedTransport([turn(say("Hi"))]))
    assert name_of(model) == name_of(name) == name
    assert is_rehearsal(model) == is_rehearsal(name)
