"""The recorded streams of `../shared/corpus`, and the rules by which they are scored."""

from __future__ import annotations

import importlib.util
from functools import cache
from types import ModuleType
from typing import Any

from headrace.cli.commands.decode.result import result_row
from headrace.events import Record, TurnEvent
from headrace.messages import fold, fold_candidates
from tests.shared import shared, shared_rows

SUPPORTED = (
    "openai-chat",
    "openai-completions",
    "anthropic",
    "openai-responses",
    "gemini",
    "ollama",
    "error-only",
    "bedrock-converse",
    "bedrock-invoke",
    "bedrock-invoke-anthropic",
    "anthropic-text",
    "hf-tgi",
    "watsonx",
    "cohere-v1",
    "gemini-interactions",
    "cohere-v2",
    "ollama-generate",
    "bedrock-agent",
    "vllm-generate",
)
FRAMINGS = {
    "sse": "sse",
    "jsonl": "lines",
    "sse-squeezed": "squeezed-sse",
    "ndjson": "ndjson",
    "json-array": "json-array",
    "eventstream": "aws-event-stream",
    "nul-json": "nul-json",
}
MANIFEST = "corpus/manifest.jsonl"


def rows(*apis: str) -> list[dict[str, Any]]:
    """The manifest's rows of these apis; none where the corpus is missing."""
    return [row for row in shared_rows(MANIFEST) if row["api"] in (apis or SUPPORTED)]


def every_row() -> list[dict[str, Any]]:
    """All rows of the manifest; none where the corpus is missing."""
    return shared_rows(MANIFEST)


def read(row: dict[str, Any]) -> bytes:
    path = shared(f"corpus/{row['file']}")
    assert path is not None
    return path.read_bytes()


def row_of(file: str, events: list[TurnEvent]) -> dict[str, Any]:
    """What `headrace decode --format result` prints."""
    records = [Record(seq, 0, event) for seq, event in enumerate(events, 1)]
    return result_row(file, fold(records), fold_candidates(records))


@cache
def compare() -> ModuleType:
    """The corpus's own scoring rules."""
    path = shared("corpus/compare.py")
    spec = importlib.util.spec_from_file_location("corpus_compare", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def expected() -> dict[str, Any]:
    """What each stream must decode to, by file."""
    return {row["file"]: row for row in shared_rows("corpus/expected.jsonl")}
