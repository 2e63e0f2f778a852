"""Settings of `headrace serve` by option, environment, file and default; and `headrace config`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.commands.serve.arguments import create_configuration
from headrace.cli.main import main
from headrace.cli.parser import build_parser

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADRACE_CONFIG", "HEADRACE_STORE", "HEADRACE_LOG"):
        monkeypatch.delenv(name, raising=False)


def show(capsys: Capture, *words: str) -> dict[str, Any]:
    """Return the settings that `headrace config` shows."""
    assert main(["config", "--json", *words]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


def refuse(capsys: Capture, *words: str) -> str:
    """Return why `headrace config` refuses to show settings."""
    assert main(["config", *words]) == 1
    return capsys.readouterr().err


def test_an_option_counts_before_a_variable_and_that_before_the_file(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("port = 1\nmax-runs = 2\ndrain = 3.5\ntokens = true")
    monkeypatch.setenv("HEADRACE_SERVE_PORT", "10")
    monkeypatch.setenv("HEADRACE_SERVE_MAX_RUNS", "20")
    shown = show(capsys, "--config", str(file), "--port", "100")
    assert shown["port"] == {"value": 100, "source": "option"}
    assert shown["max-runs"] == {"value": 20, "source": "HEADRACE_SERVE_MAX_RUNS"}
    assert shown["drain"] == {"value": 3.5, "source": str(file)}
    assert shown["tokens"] == {"value": True, "source": str(file)}
    assert shown["host"] == {"value": "127.0.0.1", "source": "default"}


def test_an_option_that_is_given_the_default_counts(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_SERVE_PORT", "10")
    assert show(capsys, "--port", "8700")["port"] == {"value": 8700, "source": "option"}


def test_every_option_of_serve_can_be_set_by_a_file(capsys: Capture, tmp_path: Path) -> None:
    samples: dict[type, Any] = {bool: True, int: 7, float: 7.5, list: ["a.example", "b.example"]}
    special = {
        "on-interrupt": "continue",
        "log-format": "json",
        "allow-origin": ["https://a.example"],
        "keep-conversations": 30.0,
        "trusted-proxy": ["192.0.2.1"],
    }
    lines, expected = [], {}
    for key, default in create_configuration().defaults.items():
        name = key.replace("_", "-")
        value = special.get(name, samples.get(type(default), "text"))
        expected[name] = value
        lines.append(f"{name} = {json.dumps(value)}")
    file = tmp_path / "serve.toml"
    file.write_text("\n".join(lines))
    shown = show(capsys, "--config", str(file))
    assert {name: one["value"] for name, one in shown.items()} == expected
    assert {one["source"] for one in shown.values()} == {str(file)}


def test_the_environment_names_the_file_and_lists_values(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('agents = "agent.toml"\nmodel = ["rehearsal:demo", "openai:gpt-5"]')
    monkeypatch.setenv("HEADRACE_CONFIG", str(file))
    monkeypatch.setenv("HEADRACE_SERVE_ALLOW_HOST", "a.example, b.example")
    monkeypatch.setenv("HEADRACE_SERVE_TOKENS", "no")
    shown = show(capsys, "--changed")
    assert {name: one["value"] for name, one in shown.items()} == {
        "agents": ["agent.toml"],
        "model": ["rehearsal:demo", "openai:gpt-5"],
        "allow-host": ["a.example", "b.example"],
        "tokens": False,
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "did you mean 'port'?"),
        ("max_runs = 1", "did you mean 'max-runs'?"),
        ("zzz = 1", "`headrace config` lists all"),
        ('port = "x"', "invalid int value"),
        ("max-runs = 0", "expected a whole number from 1 on"),
        ("port = true", "expected a text or a number"),
        ("port = [1, 2]", "expected one value"),
        ('tokens = "perhaps"', "expected true or false"),
        ('on-interrupt = "stop"', "invalid choice"),
        ("port = ", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(
    text: str, said: str, capsys: Capture, tmp_path: Path
) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    error = refuse(capsys, "--config", str(file))
    assert said in error
    assert str(file) in error
    # The server refuses it too, and does not listen.
    assert main(["serve", "--config", str(file)]) == 1


def test_a_wrong_variable_and_a_missing_file_are_named(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "nowhere.toml: No such file" in refuse(capsys, "--config", "nowhere.toml")
    monkeypatch.setenv("HEADRACE_SERVE_DRAIN", "soon")
    assert "HEADRACE_SERVE_DRAIN" in refuse(capsys)


@pytest.mark.parametrize("variable", ["HEADRACE_STORE", "HEADRACE_SERVE_STORE"])
def test_passwords_are_not_shown(
    variable: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "postgresql://anna:secret@db/main?password=secret")
    words = ["config", "--changed", "--mcp", "files=https://me:secret@mcp.example/x?key=secret"]
    for more in ([], ["--json"]):
        assert main([*words, *more]) == 0
        shown = capsys.readouterr().out
        assert "secret" not in shown
        assert "postgresql://anna@db/main" in shown
        assert variable in shown
        assert "files=https://me@mcp.example/x" in shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("POSTGRESQL://anna:secret@db/main", "POSTGRESQL://anna@db/main"),
        ("postgresql+ssl://anna:secret@db/main", "postgresql+ssl://anna@db/main"),
        # Signs that should have been written as codes, so that the server refuses the address.
        ("postgresql://anna:secret/secret@db/main", "postgresql://anna@db/main"),
        ("postgresql://anna:secret?secret@db/main", "postgresql://anna@db/main"),
        ("postgresql://anna:secret#secret@db/main", "postgresql://anna@db/main"),
        ("postgresql://anna:secret@secret@db/main", "postgresql://anna@db/main"),
        ("redis://:secret@db:6379", "redis://db:6379"),
        ("https://db/main?to=secret@home", "https://…@home"),
        (" postgresql://anna:secret@db/main", "postgresql://anna@db/main"),
    ],
)
def test_no_part_of_a_password_is_shown(
    address: str, shown: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_SERVE_STORE", address)
    assert main(["config", "--changed"]) == 0
    line = capsys.readouterr().out
    assert "secret" not in line
    assert shown in line


def test_nothing_but_the_command_line_is_read_for_the_help() -> None:
    options = build_parser().parse_args(["serve"])
    assert options.port is None
    assert options.tokens is None
