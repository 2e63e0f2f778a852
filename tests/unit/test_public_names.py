"""The public names of the package: a list that changes only on purpose."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import headrace
from headrace.encoders import OptionArguments, Options
from headrace.turn.api import TurnArguments

CONTRIBUTOR_GUIDES = {"add-a-provider", "add-a-protocol", "add-a-dialect", "add-a-command"}
PUBLIC_PARTS = ("client", "events", "mcp", "otel", "server", "testing", "trace_headers")

NAMES = """
API_KEYS Agent Allow AlreadyAnswered Approve Ask Budget CacheBreak CallResult CancelToken ChatQuirks
CodeInterpreter Compactor Content Conversation Decision Decoder Deny EMAIL ErrorInfo ExternalTool
Fallback FallbackEntry FileContent FileSearch FinishReason HTTPTransport HeadraceError ImageContent
ImageGeneration InputDenied InputRequest InputRequired JSONContent JSONLinesTrace LimitExceeded
ListedModel Location MCP MCPServer Message Middleware NEVER NotePad OpenTelemetry Options
OutputInvalid OutputSchema PartialJSON Record Redaction ReplayTransport RequestFailed Result
RetryPolicy Run RunLimits RunSummary RunView SecretPattern Summarize Switch Terminate TextContent
Timeouts TokenCount Tool ToolCall ToolContext ToolReturn ToolSpec Truncate TurnStream Usage
UsageError WebFetch WebSearch WireError WireLimits XSearch __version__ attach calculator clock_tool
complete complete_async content count_tokens count_tokens_async decode decode_async decode_record
default_tools encode_record errors events extract_status fetch_tool fold fold_candidates history
list_models list_models_async messages parse_status_marker price stream tool tool_error
""".split()


def test_the_public_names_are_these() -> None:
    assert sorted(headrace.__all__) == sorted(NAMES)
    assert dir(headrace) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(headrace, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        headrace.nonsense  # noqa: B018


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    code = "import headrace, sys; print([m for m in sys.modules if m.startswith('headrace.')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_table_of_names_is_complete() -> None:
    extra = {*headrace._MODULES, "__version__"}
    assert set(headrace._HOMES) | extra == set(headrace.__all__)


def test_option_arguments_are_the_fields_of_options() -> None:
    assert tuple(OptionArguments.__annotations__) == Options.__struct_fields__


def test_complete_takes_the_arguments_of_stream() -> None:
    assert inspect.signature(headrace.complete).parameters.keys() == (
        inspect.signature(headrace.stream).parameters.keys()
    )
    assert set(Options.__struct_fields__) < set(get_type_hints(TurnArguments))


USER_GUIDES = sorted(
    page for page in Path("docs/howto").glob("*.md") if page.stem not in CONTRIBUTOR_GUIDES
)


@pytest.mark.parametrize("page", USER_GUIDES, ids=lambda page: page.stem)
def test_a_guide_for_users_imports_from_the_package_itself(page: Path) -> None:
    modules = set(re.findall(r"^from (headrace[\w.]*) import", page.read_text("utf-8"), re.M))
    assert modules <= {"headrace", *(f"headrace.{name}" for name in PUBLIC_PARTS)}
