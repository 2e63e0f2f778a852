"""Settings, environment variables, command line options, requests and error codes are documented.

The lists come from the code, so a new entry without documentation fails here.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.routing import Mount, Route, WebSocketRoute

import headrace
from docs import generate, meaning
from docs.api_error import MEANINGS, api_errors
from docs.serving import REQUESTS, RESPONSES, serve_options
from docs.syntax_tree import parse_source
from headrace import Agent
from headrace.cli.commands.chat.slash_command import SLASHES
from headrace.cli.parser import build_parser
from headrace.server import create_app
from headrace.server.agent_config import AgentFile
from headrace.server.http.openapi import openapi
from headrace.server.settings import Settings

SOURCES = Path(headrace.__file__).parent
OPTION_ENDINGS = ("Limits", "Timeouts", "Policy", "Options", "Settings", "Quirks", "Rules")
# Documented as a block of a topic or a guide.
ELSEWHERE = {
    "ChatQuirks": "topics/dialects.md",
    "WireLimits": "topics/limits.md",
    "RecordingLimits": "howto/report-a-broken-stream.md",
}


def page(path: str) -> str:
    return (generate.DOCS / path).read_text("utf-8")


def section(text: str, heading: str) -> str:
    """Return the text under a heading, up to the next one of the same or a higher level."""
    level = heading.partition(" ")[0]
    found = text.partition(f"\n{heading}\n")[2]
    return re.split(rf"^#{{1,{len(level)}}} ", found, maxsplit=1, flags=re.MULTILINE)[0]


def row(text: str, first: str) -> list[str]:
    """Return the cells of the row with this first cell, without it."""
    found = re.findall(rf"^\| `{re.escape(first)}` \|(.*)\|$", text, re.MULTILINE)
    assert len(found) == 1, f"{first} stands in {len(found)} rows"
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", found[0])]


def trees(folder: Path = SOURCES) -> Iterator[ast.AST]:
    for path in folder.rglob("*.py"):
        yield parse_source(path.read_text("utf-8"))


# --- settings -----------------------------------------------------------------------


def option_structs() -> list[type[msgspec.Struct]]:
    """Return all structs of the package that hold options."""
    for found in pkgutil.walk_packages(headrace.__path__, "headrace."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    kinds = {
        kind
        for name, module in list(sys.modules.items())
        if name.startswith("headrace.")
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
        if kind.__module__.startswith("headrace.") and not kind.__name__.startswith("_")
    }
    return sorted((k for k in kinds if k.__name__.endswith(OPTION_ENDINGS)), key=str)


def test_every_field_of_every_struct_of_options_is_documented_with_its_meaning() -> None:
    reference = "\n".join(one.read_text("utf-8") for one in generate.DOCS.glob("reference/*.md"))
    kinds: list[Any] = [*option_structs(), AgentFile]
    assert {Settings, headrace.WireLimits} < set(kinds)
    for kind in kinds:
        place = ELSEWHERE.get(kind.__name__)
        documented = page(place) if place else section(reference, f"### {kind.__name__}")
        assert documented, f"{kind.__name__} is not documented"
        for field in kind.__struct_fields__:
            assert row(documented, field)[-1], f"{kind.__name__}.{field} has no meaning"


def test_every_setting_names_the_option_that_sets_it() -> None:
    documented = section(page("reference/settings.md"), "### Settings")
    options = serve_options()
    assert options["keep_logs_s"] == ("--keep-logs",)
    for setting, names in options.items():
        assert row(documented, setting)[2] == ", ".join(f"`{name}`" for name in names)


def variables() -> set[str]:
    """Return the environment variables that the code reads."""
    found: set[str] = set()
    for tree in trees():
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=where, attr="get"),
                    args=[ast.Constant(value=str(name)), *_],
                ):
                    found |= {name} if _is_environment(where) else set()
                case ast.Subscript(value=where, slice=ast.Constant(value=str(name))):
                    found |= {name} if _is_environment(where) else set()
                case ast.Compare(
                    left=ast.Constant(value=str(name)), ops=[ast.In()], comparators=[where]
                ):
                    found |= {name} if _is_environment(where) else set()
                case ast.Call(func=ast.Name(id="getenv") | ast.Attribute(attr="getenv")):
                    raise AssertionError("use os.environ")
                case _:
                    pass
    # The empty name is looked up for providers without a variable.
    return found - {""}


def _is_environment(where: ast.expr) -> bool:
    return ast.unparse(where) in ("os.environ", "environ", "environment")


def test_every_variable_of_the_environment_is_documented() -> None:
    named = {
        word
        for path in SOURCES.rglob("*.py")
        for word in re.findall(r"\bHEADRACE_[A-Z_]+\b", path.read_text("utf-8"))
    }
    assert named
    assert variables() | named == set(meaning.VARIABLES)
    documented = section(page("reference/settings.md"), "## Environment")
    for name in meaning.VARIABLES:
        assert row(documented, name)[-1], f"{name} has no meaning"


# --- HTTP ---------------------------------------------------------------------------


def test_every_code_of_an_error_is_documented_with_its_status_and_what_to_do() -> None:
    found = api_errors()
    assert {"internal", "no_token", "not_found", "refused", "wrong_verb"} <= set(found)
    assert set(MEANINGS) == set(found)
    documented = section(page("reference/http.md"), "## Errors")
    for code, error in found.items():
        status, meant, advice, extras = row(documented, code)
        assert status == str(error.status or "")
        assert meant, f"{code} has no meaning"
        assert advice, f"no advice for {code}"
        assert extras == ", ".join(f"`{name}`" for name in error.extras)


def test_every_request_is_documented(tmp_path: Path) -> None:
    app = create_app(Agent("rehearsal:demo"), data=tmp_path)
    asked: set[str] = set()
    for route in app.routes:
        if isinstance(route, Mount):
            asked.add(f"GET {route.path}/{{path}}")
        elif isinstance(route, WebSocketRoute):
            asked.add(f"GET {route.path}")
        else:
            assert isinstance(route, Route)
            path = route.path.replace(":path", "")
            asked |= {f"{verb} {path}" for verb in (route.methods or {"GET"}) - {"HEAD"}}
    assert set(meaning.ROUTES) == asked
    documented = section(page("reference/http.md"), "## Requests")
    for request in asked:
        assert row(documented, request)[0], f"{request} has no meaning"


def test_every_parameter_of_a_request_is_documented() -> None:
    documented = section(page("reference/http.md"), "## Requests")
    for path, verbs in openapi("")["paths"].items():
        for verb, operation in verbs.items():
            for parameter in operation["parameters"]:
                if parameter["in"] == "query":
                    assert f"`{parameter['name']}`" in row(documented, f"{verb.upper()} {path}")[-1]
                elif parameter["in"] == "header":
                    assert row(documented, parameter["name"])[-1]


def test_every_header_that_is_read_of_a_request_is_documented() -> None:
    read = {
        name.lower()
        for tree in trees(SOURCES / "server")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "request.headers.get"
        for name in [ast.literal_eval(node.args[0])]
    }
    assert "idempotency-key" in read
    # Read in one place for all routes.
    read |= {"authorization", "cookie", "x-api-key"}
    assert {name.lower() for name in meaning.HEADERS} == read


@pytest.mark.parametrize("kind", [*REQUESTS, *RESPONSES])
def test_every_field_that_is_sent_or_answered_is_documented_with_its_meaning(kind: Any) -> None:
    documented = section(page("reference/http.md"), f"### {kind.__name__}")
    for field in kind.__struct_fields__:
        assert row(documented, field)[-1], f"{kind.__name__}.{field} has no meaning"


def test_every_struct_of_the_server_in_the_openapi_document_is_documented() -> None:
    of_server = {
        kind.__name__
        for name, module in list(sys.modules.items())
        if name.startswith("headrace.server.")
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__.startswith("headrace.server.")
    }
    described = set(openapi("")["components"]["schemas"]) & of_server
    assert described == {kind.__name__ for kind in (*REQUESTS, *RESPONSES)}


# --- the command line ---------------------------------------------------------------


def commands(
    parser: argparse.ArgumentParser, name: str = "headrace", level: int = 1
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command with the heading of its section."""
    yield "#" * level + f" {name}", parser
    for word, own in generate.subcommands(parser).items():
        yield from commands(own, f"{name} {word}", level + 1)


COMMANDS = dict(commands(build_parser()))


@pytest.mark.parametrize("heading", list(COMMANDS)[1:])
def test_every_option_of_a_command_is_documented_with_its_meaning(heading: str) -> None:
    documented = section(page("reference/cli.md"), heading)
    assert documented, f"{heading} is not documented"
    for action in COMMANDS[heading]._actions:
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction):
            continue
        if action.help is argparse.SUPPRESS:
            continue
        assert action.help, f"{action.dest} of {heading} has no meaning"
        for word in action.option_strings or [str(action.metavar)]:
            assert re.search(rf"`{re.escape(word.replace('|', chr(92) + '|'))}[` ]", documented), (
                word
            )


def test_every_command_of_the_chat_is_documented() -> None:
    documented = section(page("topics/terminal.md"), "## Commands")
    for slash in SLASHES:
        takes = f" {slash.takes}" if slash.takes else ""
        assert row(documented, f"/{slash.name}{takes}".replace("|", "\\|"))[-1]


# --- troubleshooting ----------------------------------------------------------------


def test_every_quoted_error_message_is_one_of_the_code() -> None:
    symptoms = re.findall(r"^\| ([^|]+) \|", page("troubleshooting.md"), re.MULTILINE)
    quoted = [span for cell in symptoms for span in re.findall(r"`([^`]+)`", cell)]
    messages = [span for span in quoted if span.count(" ") >= 3]
    literals = "\n".join(
        node.value
        for tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    assert len(messages) > 10
    for message in messages:
        words = message.split()
        triples = [" ".join(words[at : at + 3]) for at in range(len(words) - 2)]
        assert any(triple in literals for triple in triples), f"no error message: {message}"
