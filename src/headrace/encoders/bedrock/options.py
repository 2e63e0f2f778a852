"""Encodes the options of Converse requests. What only one model family has goes into
`additionalModelRequestFields`."""

from __future__ import annotations

from headrace.encoders.claude.schema import adapt_schema
from headrace.encoders.claude.thinking import (
    ADAPTIVE_SINCE,
    NO_SAMPLING_SINCE,
    encode_thinking,
    is_claude_since,
    map_effort,
    reject_beside_thinking,
)
from headrace.encoders.model_family import is_generation_at_least, parse_family
from headrace.encoders.option_table import OptionTable, reject_options
from headrace.encoders.request import (
    Effort,
    Options,
    OutputSchema,
    Request,
)
from headrace.encoders.text_content import encode_json
from headrace.errors import UsageError
from headrace.events import JSONObject

_OPTIONS = OptionTable(
    provider="Bedrock",
    fields={
        "max_tokens": "maxTokens",
        "temperature": "temperature",
        "top_p": "topP",
        "stop": "stopSequences",
    },
    encoded=("betas", "effort", "output", "service_tier", "top_k"),
)
# Nova thinks since its second generation; its effort, and that of GPT, has three levels.
_NOVA_THINKS_SINCE = (2, 0)
_THREE_LEVELS: dict[Effort, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


def encode_options(request: Request) -> JSONObject:
    """Return every field of the body that is no message, tool or instruction."""
    options = request.options
    config = _OPTIONS.collect(options)
    if options.cache == "24h":
        raise UsageError("Bedrock caches for 5m or 1h: cache='24h' is not possible")
    if is_claude_since(request.model, NO_SAMPLING_SINCE):
        reject_options(options, f"the model {request.model}", "temperature", "top_p", "top_k")
    model_fields = _encode_effort(request)
    if "max_tokens" in model_fields:
        config["maxTokens"] = model_fields.pop("max_tokens")
    if options.top_k is not None:
        model_fields |= _encode_top_k(options.top_k, request.model)
    tier = options.service_tier
    body = {
        "inferenceConfig": config,
        "additionalModelRequestFields": model_fields,
        "serviceTier": {} if tier is None else {"type": tier},
        "outputConfig": _encode_output(options, request.model),
    }
    return {name: value for name, value in body.items() if value}


def _encode_output(options: Options, model: str) -> JSONObject:
    if options.output is None:
        return {}
    output: OutputSchema = options.output
    is_claude = parse_family(model) == "claude"
    schema = adapt_schema(output.schema) if is_claude else output.schema
    structure = {"jsonSchema": {"name": output.name, "schema": encode_json(schema)}}
    return {"textFormat": {"type": "json_schema", "structure": structure}}


def _encode_top_k(top_k: int, model: str) -> JSONObject:
    match parse_family(model):
        case "claude":
            return {"top_k": top_k}
        case "nova":
            return {"inferenceConfig": {"topK": top_k}}
        case _:
            raise UsageError(f"the model {model} has no option 'top_k': leave it out")


def _encode_effort(request: Request) -> JSONObject:
    """Encode the effort under the names of the model family."""
    effort, model = request.options.effort, request.model
    if effort is None:
        return {}
    match parse_family(model):
        case "claude":
            return _encode_claude_effort(request, effort)
        case "nova" if is_generation_at_least(model, _NOVA_THINKS_SINCE):
            if effort == "none":
                return {"reasoningConfig": {"type": "disabled"}}
            level = _THREE_LEVELS[effort]
            return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": level}}
        case "gpt":
            return {"reasoning_effort": _THREE_LEVELS.get(effort, "low")}
        case _ if effort == "none":
            return {}
        case _:
            raise UsageError(f"the model {model} has no option 'effort': leave it out")


def _encode_claude_effort(request: Request, effort: Effort) -> JSONObject:
    fields = encode_thinking(request)
    if effort == "none":
        return fields
    reject_beside_thinking(request)
    if is_claude_since(request.model, ADAPTIVE_SINCE):
        fields["output_config"] = {"effort": map_effort(effort, request.model)}
    return fields
