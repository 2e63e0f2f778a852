"""The shapes of text streams, as data: where each API has its text, finish reason and counts."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace import outcome
from headrace.outcome import FinishReason
from headrace.wire.json.value import as_list, as_object

Path = tuple[str, ...]


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Where the fields of one API are. Paths begin at an output."""

    field: str
    """The field of the payload that only this API has."""
    is_list: bool = False
    """Whether that field is the list of outputs. Otherwise the payload is the only output."""
    is_cumulative: bool = False
    """Whether the outputs are texts, each with everything that its earlier ones had."""
    text: Path = ()
    reason: Path = ()
    input_tokens: Path = ()
    output_tokens: Path = ()


SHAPES = (
    # Anthropic's legacy completions, also behind InvokeModel of Bedrock.
    Shape(field="completion", text=("completion",), reason=("stop_reason",)),
    # Llama behind InvokeModel.
    Shape(
        field="generation",
        text=("generation",),
        reason=("stop_reason",),
        input_tokens=("prompt_token_count",),
        output_tokens=("generation_token_count",),
    ),
    # Amazon Titan.
    Shape(
        field="outputText",
        text=("outputText",),
        reason=("completionReason",),
        input_tokens=("inputTextTokenCount",),
        output_tokens=("totalOutputTextTokenCount",),
    ),
    # Mistral behind InvokeModel.
    Shape(field="outputs", is_list=True, text=("text",), reason=("stop_reason",)),
    # Cohere Command behind InvokeModel.
    Shape(field="generations", is_list=True, text=("text",), reason=("finish_reason",)),
    # IBM watsonx.
    Shape(
        field="results",
        is_list=True,
        text=("generated_text",),
        reason=("stop_reason",),
        input_tokens=("input_token_count",),
        output_tokens=("generated_token_count",),
    ),
    # Text Generation Inference of Hugging Face.
    Shape(
        field="token",
        text=("token", "text"),
        reason=("details", "finish_reason"),
        output_tokens=("details", "generated_tokens"),
    ),
    # The demonstration server of vLLM. It repeats the prompt, and never says why a text ends.
    Shape(field="text", is_list=True, is_cumulative=True),
)

FINISH_WORDS: dict[str, FinishReason] = {
    "stop": outcome.END_TURN,
    "complete": outcome.END_TURN,
    "finish": outcome.END_TURN,
    "eos_token": outcome.END_TURN,
    "length": outcome.MAX_TOKENS,
    "max_tokens": outcome.MAX_TOKENS,
    "token_limit": outcome.MAX_TOKENS,
    "stop_sequence": outcome.STOP_SEQUENCE,
    "time_limit": outcome.TIME_LIMIT,
    "content_filtered": outcome.CONTENT_FILTER,
    "error_toxic": outcome.CONTENT_FILTER,
    "error_limit": outcome.CONTEXT_FULL,
}
ERROR_WORDS = frozenset({"error", "cancelled"})
UNFINISHED_WORDS = frozenset({"not_finished"})


def find_shape(payload: dict[str, Any]) -> Shape | None:
    """Return the shape of a payload with text, or None if it has none of them."""
    return next((shape for shape in SHAPES if _fits(shape, payload)), None)


def find_similar_shape(payload: dict[str, Any]) -> Shape | None:
    """Return the shape of a payload whose text may be missing, or None."""
    return find_shape(payload) or next((shape for shape in SHAPES if shape.field in payload), None)


def _fits(shape: Shape, payload: dict[str, Any]) -> bool:
    if not shape.is_list:
        return shape.field in payload and isinstance(read_path(payload, shape.text), str)
    entries = as_list(payload.get(shape.field))
    if shape.is_cumulative:
        return bool(entries) and all(isinstance(entry, str) for entry in entries)
    return bool(entries) and all(
        isinstance(read_path(as_object(entry), shape.text), str) for entry in entries
    )


def read_path(value: dict[str, Any], path: Path) -> Any:
    """Return the value at a path, or None."""
    found: Any = value if path else None
    for name in path:
        found = as_object(found).get(name)
    return found
