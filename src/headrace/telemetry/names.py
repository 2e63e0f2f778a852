"""Names of attributes, and the table of metrics.

Every name exists in `opentelemetry-semantic-conventions` or `opentelemetry-util-genai`, or begins
with `headrace.`. A test checks that.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
OUTPUT_TYPE: Final = "gen_ai.output.type"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_TOP_P: Final = "gen_ai.request.top_p"
REQUEST_TOP_K: Final = "gen_ai.request.top_k"
REQUEST_SEED: Final = "gen_ai.request.seed"
REQUEST_STOP: Final = "gen_ai.request.stop_sequences"
REQUEST_FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
REQUEST_PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
REQUEST_EFFORT: Final = "gen_ai.request.reasoning.level"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"

# Content, which is recorded only on request.
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"

# Names of our own.
RUN_ID: Final = "headrace.run.id"
RUN_EPOCH: Final = "headrace.run.epoch"
RUN_END: Final = "headrace.run.end"
STEP: Final = "headrace.step"
COST: Final = "headrace.usage.cost"
IS_ESTIMATED: Final = "headrace.usage.is_estimated"
FIRST_REASONING: Final = "headrace.response.time_to_first_reasoning"
FIRST_TEXT: Final = "headrace.response.time_to_first_text"
REQUEST_KIND: Final = "headrace.input.kind"
REQUEST_DECISION: Final = "headrace.input.decision"
INPUT_REQUESTED: Final = "headrace.input.requested"
INPUT_ANSWERED: Final = "headrace.input.answered"
COMPACTED: Final = "headrace.history.compacted"
MESSAGES_BEFORE: Final = "headrace.history.messages_before"
MESSAGES_AFTER: Final = "headrace.history.messages_after"
OVERFLOW: Final = "otel.metric.overflow"

# HTTP requests to a server.
HTTP_METHOD: Final = "http.request.method"
HTTP_ORIGINAL_METHOD: Final = "http.request.method_original"
HTTP_ROUTE: Final = "http.route"
HTTP_STATUS: Final = "http.response.status_code"
URL_PATH: Final = "url.path"
URL_SCHEME: Final = "url.scheme"

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_AGENT_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
_HTTP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_TOKENS = tuple(float(4**power) for power in range(14))
_DOLLARS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class Metric(NamedTuple):
    """A histogram: its name, unit, description and the upper bounds of its buckets."""

    name: str
    unit: Literal["s", "{token}", "USD"]
    description: str
    bounds: tuple[float, ...]


OPERATION_DURATION: Final = Metric(
    "gen_ai.client.operation.duration", "s", "Duration of requests to models.", _SECONDS
)
TOKEN_USAGE: Final = Metric(
    "gen_ai.client.token.usage", "{token}", "Input and output tokens of requests.", _TOKENS
)
TIME_TO_FIRST_CHUNK: Final = Metric(
    "gen_ai.client.operation.time_to_first_chunk",
    "s",
    "Time from a request to the first event of its response.",
    _SECONDS,
)
TIME_PER_OUTPUT_CHUNK: Final = Metric(
    "gen_ai.client.operation.time_per_output_chunk",
    "s",
    "Time between chunks of a response; what arrives within a millisecond is one chunk, and 32 "
    "gaps of a response are counted at most.",
    _SECONDS,
)
TIME_TO_FIRST_REASONING: Final = Metric(
    "headrace.client.operation.time_to_first_reasoning",
    "s",
    "Time from a request to the first reasoning.",
    _SECONDS,
)
TIME_TO_FIRST_TEXT: Final = Metric(
    "headrace.client.operation.time_to_first_text",
    "s",
    "Time from a request to the first text.",
    _SECONDS,
)
REQUEST_COST: Final = Metric(
    "headrace.client.operation.cost", "USD", "Cost of requests to models.", _DOLLARS
)
TOOL_DURATION: Final = Metric(
    "gen_ai.execute_tool.duration", "s", "Duration of calls of tools.", _SECONDS
)
AGENT_DURATION: Final = Metric(
    "gen_ai.invoke_agent.duration",
    "s",
    "Duration of runs of agents, without waits.",
    _AGENT_SECONDS,
)
HTTP_DURATION: Final = Metric(
    "http.server.request.duration", "s", "Duration of HTTP requests to the server.", _HTTP_SECONDS
)
METRICS: Final = (
    OPERATION_DURATION,
    TOKEN_USAGE,
    TIME_TO_FIRST_CHUNK,
    TIME_PER_OUTPUT_CHUNK,
    TIME_TO_FIRST_REASONING,
    TIME_TO_FIRST_TEXT,
    REQUEST_COST,
    TOOL_DURATION,
    AGENT_DURATION,
    HTTP_DURATION,
)

# The conventions have names of their own for these providers of the catalog.
_PROVIDERS = {
    "openai-chat": "openai",
    "gemini": "gcp.gemini",
    "gemini-interactions": "gcp.gemini",
    "xai": "x_ai",
    "xai-chat": "x_ai",
    "xai-grpc": "x_ai",
    "mistral": "mistral_ai",
    "azure": "azure.ai.openai",
    "azure-chat": "azure.ai.openai",
    "vertex": "gcp.vertex_ai",
    "vertex-anthropic": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "bedrock-anthropic": "aws.bedrock",
}


def convert_provider(name: str) -> str:
    """Return the name that the conventions have for a provider of the catalog, or its own."""
    return _PROVIDERS.get(name, name)
