"""`headrace record`: recorded_reads by one command, decoded and played by the others."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headrace.cli.commands.record.command import _split
from headrace.cli.main import main
from tests.shared import SHARED
from tests.unit.cli.server import provider
from tests.unit.cli.stream import chunk, sse

Capture = pytest.CaptureFixture[str]
KEY = "sk-CANARY-0123456789abcdef"
PIECES = (
    sse(chunk(reasoning_content="hm, ")),
    sse(chunk(reasoning_content="yes")) + sse(chunk(content="Grüße"))[:-9],
    sse(chunk(content="Grüße"))[-9:],
    sse(chunk("stop"), "[DONE]"),
)


@contextmanager
def recording(upstream: str, out: Path, **environ: str) -> Iterator[tuple[str, list[str]]]:
    """The base_url, and what was printed once the block is left."""
    command = [
        sys.executable,
        "-m",
        "headrace",
        "record",
        "--upstream",
        upstream,
        "--out",
        str(out),
    ]
    environment = os.environ | environ
    shown: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        shown.append(process.stdout.readline())
        shown.append(process.stdout.readline())
        try:
            yield shown[1].removeprefix("base_url: ").strip(), shown
        finally:
            process.send_signal(signal.SIGINT)
            shown += process.stdout.read().splitlines(keepends=True)
            assert process.wait(20) == 0


def ask(base_url: str, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return main(["ask", "-m", "openai-chat:m", "--base-url", base_url, *words])


def test_what_is_recorded_decodes_and_plays_like_the_answer(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with provider(*PIECES, pause_s=0.03) as (address, bodies):
        with recording(address, out) as (base_url, shown):
            assert base_url.endswith("/v1")
            assert ask(base_url, monkeypatch, "my", "key", "is", KEY) == 0
        asked = capsys.readouterr()
        assert asked.out == "Grüße\n"
        assert KEY in bodies[0].decode()
    file = out / "001-completions.sse"
    assert file.read_bytes() == b"".join(PIECES)
    assert main(["replay", "--speed", "max", str(file)]) == 0
    assert capsys.readouterr() == asked
    assert main(["decode", "--format", "message", str(file)]) == 0
    assert '"text": "Grüße"' in capsys.readouterr().out
    assert main(["inspect", str(file)]) == 0
    assert "the first read came after" in capsys.readouterr().out
    everything = "".join(shown) + "".join(path.read_text() for path in out.iterdir())
    assert "CANARY" not in everything
    assert "".join(shown).rstrip().endswith(f"look at the last: headrace decode {file}")


def test_it_says_what_came_and_fits_the_terminal(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        provider(*PIECES) as (address, _),
        recording(address, tmp_path, COLUMNS="40") as (base_url, shown),
    ):
        ask(base_url, monkeypatch, "hi")
        ask(base_url, monkeypatch, "ho")
    at = shown.index("001-completions.sse\n")
    assert shown[at + 1].startswith("  POST /v1/chat/completions · 200 ·")
    assert all(len(line) <= 41 for line in shown[at : at + 6] if line.startswith("  "))
    assert any(line.startswith("2 answers in ") for line in shown)


def test_nothing_recorded_is_said(tmp_path: Path) -> None:
    with recording("http://127.0.0.1:1", tmp_path) as (_, shown):
        pass
    assert "did the requests go to the base_url?" in shown[-1]


def test_a_known_provider_says_how_to_point_to_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headrace", "record", "--provider", "anthropic"]
    command += ["--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert lines[0].startswith("Recording Anthropic at https://api.anthropic.com into ")
    assert re.fullmatch(r"base_url: http://127\.0\.0\.1:\d+\n", lines[1])
    assert lines[2].startswith("  export ANTHROPIC_BASE_URL=http://127.0.0.1:")
    assert lines[4] == "stop with Ctrl-C\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--provider", "nobody"], "no provider 'nobody'"),
        (["--provider", "azure"], "give it with --upstream"),
        (["--provider", "xai-grpc"], "is not reached over HTTP"),
        (["--provider", "rehearsal"], "is not reached over HTTP"),
        (["--upstream", "ftp://h"], "an http or https address"),
        (["--upstream", "http://[bad"], "an http or https address"),
        (["--upstream", "https://u:p@h/v1"], "must not have a user, query or fragment"),
        (["--upstream", "https://h/v1?key=1"], "must not have a user, query or fragment"),
        (["--provider", "openai", "--port", "70000"], "there is no such port"),
    ],
)
def test_what_cannot_be_recorded_is_said(
    argv: list[str], said: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_OPENAI_BASE_URL", raising=False)
    assert main(["record", *argv, "--out", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


def test_where_to_record_from_is_needed_once(capsys: Capture) -> None:
    for argv in ([], ["--provider", "openai", "--upstream", "http://h"]):
        assert main(["record", *argv, "--out", "x"]) == 2
        assert "--help" in capsys.readouterr().err


def test_an_upstream_keeps_its_port_and_path() -> None:
    assert _split("http://[::1]:8080/v1/", "")[:2] == ("http://[::1]:8080", "/v1")
    assert _split("https://h", "")[:2] == ("https://h", "")


@pytest.mark.shared("corpus/streams")
def test_recorded_streams_pass_byte_for_byte(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = sorted((SHARED / "corpus" / "streams").rglob("*.sse"))[::150]
    assert files
    for number, file in enumerate(files):
        data, out = file.read_bytes(), tmp_path / str(number)
        pieces = [data[at : at + 997] for at in range(0, len(data), 997)]
        with provider(*pieces) as (address, _), recording(address, out) as (base_url, _):
            subprocess.run(
                ["curl", "-sN", "--max-time", "20", "-d", "{}", f"{base_url}/any"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        (kept,) = [path for path in out.iterdir() if not path.name.endswith(".json")]
        assert kept.read_bytes() == data
        listed = json.loads((out / f"{kept.name}.chunks.json").read_text())
        assert sum(listed["lens"]) == len(data)
