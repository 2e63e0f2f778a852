"""The public face: a list that changes only on purpose."""

from __future__ import annotations

import subprocess
import sys

import pytest

import headrace

NAMES = """
Agent ChatQuirks Conversation Decoder ErrorInfo FinishReason HeadraceError LimitExceeded
Message Middleware Options Record RequestFailed ToolSpec TurnStream Usage UsageError WireError
WireLimits
__version__ complete complete_async content decode decode_async decode_record encode_record
errors events fold fold_candidates history messages stream tool
""".split()


def test_the_public_names_are_these() -> None:
    assert sorted(headrace.__all__) == sorted(NAMES)
    assert dir(headrace) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(headrace, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        headrace.nonsense  # noqa: B018


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    code = "import headrace, sys; print([m for m in sys.modules if m.startswith('headrace.')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
