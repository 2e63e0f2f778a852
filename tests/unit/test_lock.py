"""The lock of a server: every need is pinned with hashes, and no registry is named."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")


def test_everything_that_a_server_needs_is_pinned_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = {_name(one) for one in (*project["dependencies"], *extras["server"], *extras["chat"])}
    text = (ROOT / "requirements" / "server.txt").read_text(encoding="utf-8")
    pinned = dict(
        re.findall(r"^([\w.-]+)==[\w.]+.*\\\n((?: +--hash=sha256:\w{64}.*\n?)+)", text, re.M)
    )
    assert needed <= set(pinned), needed - set(pinned)
    assert len(pinned) == len(re.findall(r"^\S", text, re.M))
    assert "://" not in text
