"""The commands in the pages about several servers, PostgreSQL, Valkey and upgrades, as they stand
there: only hosts, folders and the agent are replaced."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.postgres import PostgresServer, find_programs
from tests.server.server_process import serve
from tests.valkey import ValkeyServer

ROOT = Path(__file__).parents[2]
PAGES = ("several-servers", "postgresql", "valkey", "upgrades")
_BLOCK = re.compile(r"^```(sh|conf)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_EXTRAS = re.compile(r"headrace\[([\w,]+)\]")
_CLIENTS = ("createuser", "createdb", "pg_dump", "pg_restore")


def read_blocks(page: str, kind: str) -> list[list[str]]:
    """Return the lines of the blocks of a page."""
    text = (ROOT / "docs" / "howto" / f"{page}.md").read_text("utf-8")
    return [body.splitlines() for found, body in _BLOCK.findall(text) if found == kind]


class Machine:
    """Runs the commands of a page."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._database = PostgresServer()
        self._valkey = ValkeyServer(*_read_settings())
        self._environment = {**os.environ, "PGHOST": "127.0.0.1", "PGUSER": "headrace"}
        self._environment["PGPORT"] = str(self._database.port)
        self.ran: list[str] = []

    def close(self) -> None:
        self._database.remove()
        self._valkey.remove()

    def run(self, line: str) -> None:
        """Run one line."""
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self._environment[name] = self._replace(value)
            return
        words = [self._replace(word) for word in shlex.split(line)]
        if words[0] == "pip":
            self._check_extras(words)
        elif words[:2] == ["headrace", "serve"]:
            self._serve(words[2:])
        elif words[0] == "headrace":
            self._execute([sys.executable, "-m", *words])
        else:
            assert words[0] in _CLIENTS, line
            if words[1:] == ["headrace"]:
                # The user of the tests has this name already.
                return
            self._execute([str(find_programs() / words[0]), *words[1:]])
        self.ran.append(words[0] if words[0] != "headrace" else " ".join(words[:2]))

    def create_database(self) -> None:
        """Create the database that the pages name."""
        self._execute([str(find_programs() / "createdb"), "headrace"])

    def prepare_migration(self) -> None:
        """Use a folder as one server does, and let the database be empty."""
        self._environment.pop("HEADRACE_STORE", None)
        self.run("headrace serve agent.toml --data /var/lib/headrace")
        self._execute([str(find_programs() / "dropdb"), "--force", "headrace"])
        self.create_database()

    def _replace(self, word: str) -> str:
        word = word.replace("headrace:secret@", "headrace@")
        word = word.replace("@db.internal/", f"@127.0.0.1:{self._database.port}/")
        word = word.replace("log.internal:6379", f"127.0.0.1:{self._valkey.port}")
        word = word.replace("/var/lib/headrace", str(self._folder / "data"))
        return word.replace("10.0.0.5", "127.0.0.1")

    def _check_extras(self, words: Sequence[str]) -> None:
        known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        found = _EXTRAS.search(" ".join(words))
        assert found is not None
        assert set(found[1].split(",")) <= set(known["optional-dependencies"])

    def _serve(self, words: Sequence[str]) -> None:
        agent, *options = words
        assert agent == "agent.toml"
        variables = (f"{name}={value}" for name, value in self._environment.items())
        before = ["env", *(one for one in variables if one.startswith("HEADRACE_"))]
        data = self._folder / "data"
        with serve(data, "-m", "rehearsal:demo", *options, before=before) as server:
            server.wait_for("/readyz", 200)
            if "--tokens" not in options:
                assert server.ask("Hello.").status_code == 200

    def _execute(self, words: Sequence[str]) -> None:
        done = subprocess.run(
            words, cwd=self._folder, env=self._environment, capture_output=True, check=False
        )
        assert done.returncode == 0, (words, done.stderr.decode())


def _read_settings() -> list[str]:
    """Return the settings of Valkey as the page has them."""
    ((*lines,),) = read_blocks("valkey", "conf")
    return [word for line in lines for word in (f"--{line.split()[0]}", *line.split()[1:])]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_runs(page: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    try:
        blocks = read_blocks(page, "sh")
        if "createuser headrace" not in blocks[0]:
            machine.create_database()
        for block in blocks:
            if any("migrate" in line for line in block):
                machine.prepare_migration()
            for line in block:
                machine.run(line)
        assert machine.ran
    finally:
        machine.close()
