"""The commands in the page about users, as they stand there: only port and folder differ."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path

from tests.server.server_process import ServerProcess, serve

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SERVE = "headrace serve "


def find_commands(page: Path) -> list[str]:
    """Return the commands of a page, in order."""
    blocks = _BLOCK.findall(page.read_text("utf-8"))
    return [line for block in blocks for line in block.splitlines()]


class Machine:
    """Runs the commands in an empty folder, and serves on a free port."""

    def __init__(self, folder: Path, servers: ExitStack) -> None:
        self._folder = folder
        self._servers = servers
        self._server: ServerProcess | None = None
        programs = folder / "bin"
        programs.mkdir()
        headrace = programs / "headrace"
        headrace.write_text(f'#!/bin/sh\nexec {sys.executable} -m headrace "$@"\n')
        headrace.chmod(0o700)
        self._environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    @property
    def url(self) -> str:
        """The address of the server that was started last."""
        assert self._server is not None
        return self._server.url

    def run(self, line: str) -> str:
        """Run a line; return what it prints."""
        if line.startswith("pip install"):
            found = re.search(r"headrace\[([\w,]+)\]", line)
            known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
            assert found is not None
            assert set(found[1].split(",")) <= set(known["optional-dependencies"])
            return ""
        if line.startswith(_SERVE):
            self._servers.close()
            options = line.removeprefix(_SERVE).replace("--data ./data", "").split()
            server = serve(self._folder / "data", "-m", "rehearsal:instant", *options)
            self._server = self._servers.enter_context(server)
            self._server.wait_for("/readyz", 200)
            return ""
        if self._server is not None:
            line = line.replace("http://127.0.0.1:8700", self._server.url)
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout

    def get_as(self, name: str) -> dict[str, str]:
        """Return who the server takes a client of the proxy for."""
        assert self._server is not None
        found = self._server.http.get("/api/account", headers={"x-remote-user": name})
        return {"status": str(found.status_code), **found.json()}


def test_every_command_of_the_page_does_what_the_page_says(tmp_path: Path) -> None:
    lines = find_commands(ROOT / "docs" / "howto" / "users.md")
    with ExitStack() as servers:
        machine = Machine(tmp_path, servers)
        printed = {line: machine.run(line) for line in lines}
        assert machine.get_as("carla")["user"] == "carla"

    def find(*words: str) -> str:
        (found,) = [out for line, out in printed.items() if all(word in line for word in words)]
        return found

    assert "anna  operator" in find("user list")
    assert '"user":"anna","role":"operator","carrier":"cookie"' in find("-c anna.jar")
    assert '"user":"bert","role":"user","carrier":"cookie"' in find("-c bert.jar")
    assert '"word":"end_turn"' in find("-b anna.jar", "/api/chat")
    assert '"title":"What is 12 * 34?"' in find("-b anna.jar", "/api/conversations")
    assert '"conversations":[]' in find("-b bert.jar", "/api/conversations")
    assert '"is_current":true' in find("-b anna.jar", "/api/sign-ins")
    assert "headrace_" in find("-b anna.jar", "/metrics")
    assert find("token create", "laptop").startswith("hr_")
    assert find("token create", "--name ci").startswith("hr_")
    assert "(expires " in find("token list")
    assert "20 requests per minute, 1000000 tokens per day, $25 per month" in find("token list")
    exported = (tmp_path / "anna.jsonl").read_text("utf-8")
    assert "What is 12 * 34?" in exported
    assert find("user delete") == ""
