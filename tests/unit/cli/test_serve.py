"""`headrace serve`: what it refuses before it listens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from docs.serving import serve_options
from headrace.cli.commands.serve.application import _prefix
from headrace.cli.commands.serve.arguments import create_configuration
from headrace.cli.main import main
from headrace.cli.parser import build_parser
from headrace.server.settings import Settings

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_an_address_that_others_reach_wants_tokens(
    host: str, capsys: Capture, tmp_path: Path
) -> None:
    assert main(["serve", "--host", host, "--data", str(tmp_path / "data")]) == 1
    assert "use --tokens" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.toml"], "none.toml: No such file"),
        (["nowhere"], "an agent is given as file.toml or module:name"),
        (["nowhere:agent"], "nowhere:agent: No module named"),
        (["headrace:fold"], "headrace:fold is not a headrace.engine.Agent"),
        (["headrace:fold", "-m", "openai:gpt-5"], "--model cannot be combined"),
    ],
)
def test_an_agent_that_is_none_is_said(words: list[str], said: str, capsys: Capture) -> None:
    assert main(["serve", *words]) == 1
    assert said in capsys.readouterr().err


def test_a_file_that_describes_no_agent_is_said(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    for text, said in (
        ('tools = ["hammer"]', "unknown tool hammer: the built-in tools are calculator"),
        ('colour = "red"', "unknown field `colour`"),
        ("model = ", "Invalid value"),
    ):
        file.write_text(text)
        assert main(["serve", str(file)]) == 1
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("given", ["chat", "/chat", "/chat/", "chat/"])
def test_a_prefix_has_one_slash_before_it(given: str) -> None:
    assert _prefix(given) == "/chat"
    assert _prefix("/") == _prefix("") == ""


def test_every_limit_has_an_option_with_the_same_default() -> None:
    options = serve_options()
    defaults = create_configuration().defaults
    for field in msgspec.structs.fields(Settings):
        if not field.name.startswith("max_") and not field.name.endswith(("_timeout_s", "_minute")):
            continue
        (name,) = options[field.name]
        value = defaults[name.removeprefix("--").replace("-", "_")]
        factor = {
            "max_body_bytes": 1_000,
            "max_upload_bytes": 1_000,
            "max_stored_bytes_per_user": 1_000_000,
        }
        assert value * factor.get(field.name, 1) == field.default, field.name


@pytest.mark.parametrize("words", [["--max-runs", "0"], ["--max-runs", "x"], ["--drain", "-1"]])
def test_a_limit_that_is_none_is_said(words: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["serve", *words])
    assert "expected a" in capsys.readouterr().err


def test_a_model_without_a_key_is_told_at_the_start(tmp_path: Path) -> None:
    """The warning names the variable, and nothing that a user of the shell cannot do."""
    command = [sys.executable, "-m", "headrace", "serve", "-m", "openai:gpt-5", "--port", "0"]
    environment = {k: v for k, v in os.environ.items() if k != "OPENAI_API_KEY"}
    with subprocess.Popen(
        [*command, "--data", str(tmp_path / "data")],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        server.terminate()
    assert line.startswith("warning: no key for OpenAI")
    assert "set OPENAI_API_KEY" in line
    assert "api_key=" not in line
