"""The documentation agrees with the code: generated pages are up to date, examples run, links
resolve, and every public name is documented."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings

from docs import generate, meaning, recorded
from docs.engine import hooks_of
from docs.grammar import GRAMMAR
from docs.outline import field_docs
from docs.watching import frame_structs, type_of
from headrace import ChatQuirks, WireLimits, engine, errors, outcome, phases, testing, timeline
from headrace import events as ev
from headrace.cli.commands.decode.command import run as run_decode
from headrace.cli.parser import build_parser
from headrace.encoders import ChatRequestQuirks, Options, OutputSchema, Request, ToolSpec
from headrace.encoders.chat.quirks import EFFORTS
from headrace.phases.tracker import CompletionMode, NoticeName
from headrace.projections import thinking
from headrace.providers import CATALOG, Provider
from headrace.rehearsal import model
from headrace.status.reader import StatusSource
from headrace.transport import HTTPCall, HTTPLimits, RetryPolicy, Timeouts
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import FRAMINGS
from tests.authored import anthropic_streams, chat_streams
from tests.grammar import check_grammar
from tests.phases.evaluation import Score
from tests.phases.excerpts import EXCERPTS
from tests.wire import events_of

ROOT = generate.ROOT
PAGES = [ROOT / "README.md", *sorted(generate.DOCS.rglob("*.md"))]
# Written by `make bench`, so it may be missing.
MEASURED = generate.DOCS / "performance.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of_docs() -> str:
    return "\n".join(page.read_text("utf-8") for page in PAGES)


def _page(path: str) -> str:
    return (generate.DOCS / path).read_text("utf-8")


# --- generated pages --------------------------------------------------------------


@cache
def generated_files() -> dict[Path, str]:
    """Return the generated pages. It takes a second, so it is done once, and not while tests are
    collected."""
    return generate.generate_files()


def test_generated_pages_are_fresh() -> None:
    stale = [path for path, text in generated_files().items() if path.read_text("utf-8") != text]
    assert not stale, "run: make docs"


def test_every_block_is_used() -> None:
    used = re.findall(r"<!-- generated: (\w+) -->", text_of_docs())
    assert sorted(used) == sorted(generate.BLOCKS)


def test_the_table_in_the_readme_is_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    shutil.copy(generate.ANSWER, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run_decode(build_parser().parse_args(["decode", "answer.sse"])) == 0
    printed = capfdbinary.readouterr().out.decode()
    assert printed.rstrip() in (ROOT / "README.md").read_text("utf-8")


def test_the_frames_on_the_page_are_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    shutil.copy(generate.ANSWER, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    argv = ["decode", "--as", "thinking", "answer.sse"]
    assert run_decode(build_parser().parse_args(argv)) == 0
    printed = capfdbinary.readouterr().out.decode()
    assert printed.rstrip() in _page("topics/thinking.md")


# --- examples ---------------------------------------------------------------------


@pytest.fixture
def kept_loggers() -> Iterator[None]:
    """Undo what an example does to the loggers of Headrace."""
    names = ("headrace", "headrace.engine")
    loggers = [logging.getLogger(one) for one in names]
    before = [(logger.level, [*logger.handlers]) for logger in loggers]
    yield
    for logger, (level, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.mark.parametrize("page", PAGES, ids=name)
@pytest.mark.usefixtures("kept_loggers")
def test_the_examples_of_a_page_run_and_print_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(generate.ANSWER, tmp_path)
    monkeypatch.chdir(tmp_path)
    # The rehearsal model pauses between words, as a real one does.
    monkeypatch.setattr(model, "_pace_s", lambda *_: 0.0)
    names: dict[str, Any] = {"__name__": "example"}
    printed = ""
    for language, body in FENCE.findall(page.read_text("utf-8")):
        if language == "python":
            assert not printed, "an example prints what the page does not show"
            printed = _run(body, names)
        elif language == "output":
            assert _trim(body) == _trim(printed)
            printed = ""
    assert not printed, "an example prints what the page does not show"


def _run(code: str, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<example>", "exec"), names)
    return out.getvalue()


def _trim(text: str) -> list[str]:
    """Return the lines without trailing blanks."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


# --- links ------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_resolves(page: Path) -> None:
    text = page.read_text("utf-8")
    missing = [link for link in LINK.findall(text) if not _resolves(page, link)]
    assert missing == []


def _resolves(page: Path, link: str) -> bool:
    if link.startswith("https://"):
        return True
    target, _, anchor = link.partition("#")
    path = (page.parent / target).resolve() if target else page
    if path == MEASURED:
        return True
    return path.exists() and (not anchor or anchor in _anchors(path))


def _anchors(path: Path) -> set[str]:
    text = FENCE.sub("", path.read_text("utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", sorted(generate.DOCS.rglob("*.md")), ids=name)
def test_every_page_can_be_reached(page: Path) -> None:
    reached = {
        (source.parent / link.partition("#")[0]).resolve()
        for source in PAGES
        if source != page
        for link in LINK.findall(source.read_text("utf-8"))
    }
    assert page in reached


# --- everything is documented ------------------------------------------------------


def test_every_event_is_in_the_reference_and_every_turn_event_in_the_grammar() -> None:
    reference = (generate.DOCS / "reference" / "events.md").read_text("utf-8")
    for kind in (*ev.EVENT_TYPES, *get_args(ev.DerivedEvent), ev.Record):
        assert f"### {kind.__name__}\n" in reference
    documented = {
        event for states in GRAMMAR.values() for moves in states.values() for event in moves
    }
    assert documented == {kind.__name__ for kind in get_args(ev.TurnEvent)}


def test_every_error_quirk_and_limit_is_documented() -> None:
    text = text_of_docs()
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for kind in kinds:
        if issubclass(kind, errors.HeadraceError):
            assert f"## {kind.__name__}\n" in text
    for field in (*ChatQuirks.__struct_fields__, *WireLimits.__struct_fields__):
        assert f"| `{field}` |" in text


def test_every_literal_has_a_meaning() -> None:
    assert set(meaning.FINISH_WORDS) == set(get_args(outcome.FinishWord))
    assert set(meaning.ABORT_KINDS) == set(get_args(outcome.AbortKind))
    assert set(meaning.ERROR_CATEGORIES) == outcome.ERROR_CATEGORIES


def test_every_dialect_and_framing_is_documented() -> None:
    page = (generate.DOCS / "topics" / "dialects.md").read_text("utf-8")
    assert set(DIALECT_NAMES) <= _anchors(generate.DOCS / "topics" / "dialects.md")
    for framing in FRAMINGS:
        assert f"| `{framing}` |" in page


def test_every_command_is_in_the_reference() -> None:
    page = (generate.DOCS / "reference" / "cli.md").read_text("utf-8")
    commands = generate.subcommands(build_parser())
    assert "decode" in commands
    for command in commands:
        assert f"## headrace {command}\n" in page


def test_every_command_is_documented_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for command in generate.subcommands(build_parser()):
        assert f"`headrace {command}`" in text


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        *(
            ("asking", kind)
            for kind in (ChatRequestQuirks, Options, OutputSchema, Provider, Request, ToolSpec)
        ),
        *(("transport", kind) for kind in (HTTPCall, HTTPLimits, RetryPolicy, Timeouts)),
    ],
)
def test_every_field_of_requests_is_documented_with_its_meaning(page: str, kind: Any) -> None:
    text = (generate.DOCS / "reference" / f"{page}.md").read_text("utf-8")
    section = text.partition(f"### {kind.__name__}\n")[2].partition("\n##")[0]
    for field in kind.__struct_fields__:
        (row,) = re.findall(rf"^\| `{field}` \|.*$", section, re.MULTILINE)
        assert not row.endswith("| |"), f"{kind.__name__}.{field} has no meaning"


WATCHING: list[Any] = [
    *(phases.Notice, phases.OutputContext, phases.OutputStats, phases.Consumer),
    *(timeline.Timeline, timeline.Span),
    *frame_structs(),
]


RUNNING: list[tuple[str, Any]] = [
    *(("engine", kind) for kind in (engine.Result, engine.RunLimits, engine.RunSummary)),
    *(("engine", kind) for kind in (engine.ToolCall, engine.Allow, engine.Deny)),
    *(("testing", kind) for kind in (testing.Heard, testing.HeardMessage, testing.HeardResult)),
    *(("testing", kind) for kind in (testing.HeardTool, testing.ScriptedTurn)),
]


@pytest.mark.parametrize("kind", WATCHING)
def test_every_field_of_the_watching_page_is_documented_with_its_meaning(kind: Any) -> None:
    section = _page("reference/watching.md").partition(f"### {kind.__name__}\n")[2]
    assert section, f"{kind.__name__} is not documented"
    for field in kind.__struct_fields__:
        row = re.search(rf"^\| `{field}` \|.*$", section.partition("\n##")[0], re.MULTILINE)
        assert row is not None, f"{kind.__name__}.{field} is not documented"
        assert not row[0].endswith("| |"), f"{kind.__name__}.{field} has no meaning"


@pytest.mark.parametrize("package", [phases, thinking])
def test_every_public_name_of_the_watching_page_is_documented(package: Any) -> None:
    page = _page("reference/watching.md")
    for word in package.__all__:
        assert f"### {word}\n" in page or f"`{word}`" in page, f"{word} is not documented"


@pytest.mark.parametrize(("page", "package"), [("engine", engine), ("testing", testing)])
def test_every_public_name_of_the_engine_is_documented(page: str, package: Any) -> None:
    text = _page(f"reference/{page}.md")
    for word in package.__all__:
        documented = text.partition(f"### {word}\n")[2].partition("\n##")[0] or f"`{word}`"
        assert documented.strip(), f"{word} has no meaning"
        assert f"### {word}\n" in text or documented in text, f"{word} is not documented"


@pytest.mark.parametrize(("page", "kind"), RUNNING)
def test_every_field_of_the_engine_is_documented_with_its_meaning(page: str, kind: Any) -> None:
    section = _page(f"reference/{page}.md").partition(f"### {kind.__name__}\n")[2]
    for field in kind.__struct_fields__:
        row = re.search(rf"^\| `{field}` \|.*$", section.partition("\n##")[0], re.MULTILINE)
        assert row is not None, f"{kind.__name__}.{field} is not documented"
        assert not row[0].endswith("| |"), f"{kind.__name__}.{field} has no meaning"


def test_every_hook_is_documented_with_its_answers() -> None:
    page = _page("reference/engine.md")
    hooks = hooks_of(engine.Middleware)
    assert len(hooks) == 12
    for hook in hooks:
        (row,) = re.findall(rf"^\| `{hook}` \|.*$", page, re.MULTILINE)
        assert not row.endswith("| |"), f"{hook} has no meaning"


def test_every_limit_of_a_run_is_documented() -> None:
    page = _page("topics/engine.md")
    for field in engine.RunLimits.__struct_fields__:
        (row,) = re.findall(rf"^\| `{field}` \|.*$", page, re.MULTILINE)
        assert not row.endswith("| |"), f"{field} has no meaning"


def test_every_word_of_a_script_is_documented() -> None:
    page = _page("topics/rehearsal.md")
    for word in (name for name in testing.__all__ if name.islower()):
        assert f"`{word}(" in page or f"`{word}`" in page, f"{word} is not documented"


def test_every_example_is_shown() -> None:
    shown = _page("examples.md")
    for path in (ROOT / "examples").glob("*.py"):
        assert f"```py\n{path.read_text('utf-8')}```" in shown


def test_every_file_of_the_notebook_is_documented_there_and_in_its_readme() -> None:
    folder = ROOT / "examples" / "notebook"
    names = {f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir()}
    documented = {
        "docs": _page("examples.md"),
        "its own": (folder / "README.md").read_text("utf-8"),
    }
    for name in names - {"README.md", "__init__.py", "__pycache__/"}:
        for where, text in documented.items():
            assert f"| `{name}` |" in text, f"{name} is not documented in {where} text"


def test_every_frame_with_its_fields_is_in_the_table() -> None:
    page = _page("topics/thinking.md")
    for kind in frame_structs():
        frame = type_of(kind)
        if frame is not None:
            (row,) = re.findall(rf"^\| `{re.escape(frame)}` \|.*\|.*\|.*\|$", page, re.MULTILINE)
            for field in kind.__struct_fields__:
                assert f"`{field}`" in row


def test_every_notice_source_and_mode_is_documented() -> None:
    assert set(meaning.NOTICES) == set(get_args(NoticeName))
    assert set(meaning.STATUS_SOURCES) == set(get_args(StatusSource))
    assert set(meaning.STATUS_EXAMPLES) == set(get_args(StatusSource))
    for notice in get_args(NoticeName):
        assert f"| `{notice}` | `on_{notice}` |" in _page("topics/phases.md")
    for mode in get_args(CompletionMode):
        assert f"In `{mode}`" in _page("topics/phases.md")
    for source in get_args(StatusSource):
        assert f"| `{source}` |" in _page("topics/thinking.md")


@pytest.mark.parametrize(("language", "title"), [("en", "English"), ("zh", "Chinese")])
def test_the_figures_of_status_phrases_are_fresh(language: str, title: str) -> None:
    score = Score()
    for excerpt in EXCERPTS:
        if excerpt.language == language:
            score.add(excerpt)
    page = _page("topics/thinking.md")
    assert f"| {title} | {score.precision:.3f} | {score.recall:.3f} |" in page
    assert f"{len(EXCERPTS)} excerpts" in page


def test_every_rule_is_in_the_guide_for_providers() -> None:
    page = (generate.DOCS / "howto" / "add-a-provider.md").read_text("utf-8")
    for field in ChatRequestQuirks.__struct_fields__:
        assert f"| `{field}` |" in page


def test_every_provider_is_documented_with_its_variables() -> None:
    page = (generate.DOCS / "providers.md").read_text("utf-8").partition("## Supported")[0]
    for provider in CATALOG.values():
        (row,) = re.findall(rf"^\| `{provider.name}` \|.*$", page, re.MULTILINE)
        for variable in (*provider.key_variables, provider.base_url_variable):
            assert variable is None or f"`{variable}`" in row


def test_every_effort_of_every_provider_is_documented() -> None:
    page = (generate.DOCS / "howto" / "ask-a-model.md").read_text("utf-8")
    for word in (*EFFORTS, *CATALOG):
        assert f"`{word}`" in page


def test_every_shared_meaning_of_a_field_is_used() -> None:
    kinds: list[Any] = [*WATCHING, *(kind for _, kind in RUNNING)]
    undocumented = {
        field for kind in kinds for field in kind.__struct_fields__ if field not in field_docs(kind)
    }
    assert set(meaning.FIELDS) <= undocumented


# --- what has been tried ------------------------------------------------------------


def test_every_api_of_the_recorded_streams_is_documented_and_no_other() -> None:
    counts = recorded.load()
    documented = {api for name in counts.__struct_fields__ for api in getattr(counts, name)}
    assert documented == set(meaning.APIS)


def test_no_recorded_stream_decodes_wrongly() -> None:
    assert recorded.load().wrong == {}


@pytest.mark.shared("corpus/manifest.jsonl")
def test_the_counts_of_recorded_streams_are_fresh() -> None:
    assert recorded.count() == recorded.load(), "run: make docs"


def test_the_docs_contain_no_local_paths() -> None:
    found = re.findall(r"(?:\.\./shared|(?<![\w.])/(?:work|home|Users|tmp)/)\S*", text_of_docs())
    assert found == []


# --- the drawn grammar ------------------------------------------------------------


@pytest.mark.parametrize("streams", [chat_streams, anthropic_streams])
def test_streams_follow_the_grammar(streams: Any) -> None:
    @settings(max_examples=25)
    @given(streams())
    def check(stream: Any) -> None:
        check_grammar(events_of(stream.data))

    check()


def test_an_illegal_event_is_rejected() -> None:
    started = ev.TurnStarted(dialect="chat")
    text = ev.TextStarted(part=0, output=0, item=0)
    with pytest.raises(AssertionError, match="TextDelta"):
        check_grammar(
            [started, ev.OutputStarted(0), text, ev.TextFinished(0), ev.TextDelta(0, "x")]
        )
