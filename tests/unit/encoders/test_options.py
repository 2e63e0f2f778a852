"""Every option on every dialect: sent under the provider's name and accepted by its published
types, or refused by name; and what goes around the options."""

from __future__ import annotations

import json
import traceback
from contextlib import nullcontext
from typing import Any

import pytest

import headrace
from headrace.encoders import (
    ENDPOINT_ENCODERS,
    REQUEST_ENCODERS,
    ChatRequestQuirks,
    Options,
    Request,
    ToolSpec,
    parse_options,
)
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.providers.catalog import CATALOG
from headrace.testing import ScriptedTransport
from headrace.turn.model import encode_call, model_for
from tests.published import accepts

# For each option: its value, and where each dialect puts it. A dialect that is missing refuses it.
PLACES: dict[str, tuple[Any, dict[str, str]]] = {
    "top_k": (40, {
        "chat": "top_k", "anthropic": "top_k", "gemini": "generationConfig.topK",
        "ollama": "options.top_k", "bedrock": "additionalModelRequestFields.top_k",
        "cohere": "k",
    }),
    "frequency_penalty": (0.5, {
        "chat": "frequency_penalty", "gemini": "generationConfig.frequencyPenalty",
        "ollama": "options.frequency_penalty", "xai": "frequency_penalty",
        "cohere": "frequency_penalty",
    }),
    "presence_penalty": (0.5, {
        "chat": "presence_penalty", "gemini": "generationConfig.presencePenalty",
        "ollama": "options.presence_penalty", "xai": "presence_penalty",
        "cohere": "presence_penalty",
    }),
    "logit_bias": ({"50256": -100}, {"chat": "logit_bias"}),
    "verbosity": ("low", {"chat": "verbosity", "responses": "text.verbosity"}),
    "modalities": (("text",), {
        "chat": "modalities", "gemini": "generationConfig.responseModalities",
        "interactions": "response_modalities",
    }),
    "user": ("u-1", {
        "chat": "user", "responses": "safety_identifier", "anthropic": "metadata.user_id",
        "xai": "user",
    }),
    "service_tier": ("auto", {
        "chat": "service_tier", "responses": "service_tier", "anthropic": "service_tier",
        "bedrock": "serviceTier.type", "interactions": "service_tier",
    }),
    "stop": (("x",), {
        "chat": "stop", "anthropic": "stop_sequences", "gemini": "generationConfig.stopSequences",
        "ollama": "options.stop", "xai": "stop", "bedrock": "inferenceConfig.stopSequences",
        "cohere": "stop_sequences", "interactions": "generation_config.stop_sequences",
    }),
}  # fmt: skip
# The generate endpoint has the options of the chat endpoint.
for _, _places in PLACES.values():
    if "ollama" in _places:
        _places["ollama-generate"] = _places["ollama"]
DIALECTS = (*REQUEST_ENCODERS, *ENDPOINT_ENCODERS)
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-3-pro",
    "responses": "gpt-5",
    "bedrock": "anthropic.claude-sonnet-4-5",
}


def body_with(dialect: str, lacks: tuple[str, ...] = (), **options: Any) -> dict[str, Any]:
    request = Request(
        model=MODELS.get(dialect, "m"),
        messages=(Message.user("Why?"),),
        options=parse_options(options),
    )
    if dialect in ENDPOINT_ENCODERS:
        return ENDPOINT_ENCODERS[dialect](request)
    return REQUEST_ENCODERS[dialect](request, ChatRequestQuirks(lacks=lacks))


@pytest.mark.parametrize("option", PLACES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_option_is_sent_or_refused(dialect: str, option: str) -> None:
    value, places = PLACES[option]
    if dialect not in places:
        with pytest.raises(UsageError, match=f"no option '{option}'"):
            body_with(dialect, **{option: value})
        return
    body = body_with(dialect, **{option: value})
    found: Any = body
    for name in places[dialect].split("."):
        found = found[name]
    meant = (
        [text.upper() for text in value]
        if option == "modalities" and dialect == "gemini"
        else value
    )
    assert found == (list(meant) if isinstance(meant, tuple) else meant)
    if option != "top_k" or dialect != "chat":  # OpenAI's own types do not have it
        accepts(dialect, body)


def test_a_new_option_is_refused_until_an_encoder_lists_it() -> None:
    class NewerOptions(Options, frozen=True, kw_only=True):
        brand_new: int | None = None

    for dialect, encode in REQUEST_ENCODERS.items():
        for value in (1, None):
            request = Request(
                model=MODELS.get(dialect, "m"),
                messages=(Message.user("Why?"),),
                options=NewerOptions(brand_new=value),
            )
            refused = pytest.raises(UsageError, match="has no option 'brand_new'")
            with nullcontext() if value is None else refused:
                encode(request, ChatRequestQuirks())


# A value for every option. The values are such that no dialect refuses them if it has the option.
SAMPLES: dict[str, Any] = {
    "max_tokens": 4_000,
    "temperature": 0.5,
    "top_p": 0.96,
    "seed": 7,
    "effort": "low",
    "tool_choice": "none",
    "parallel_calls": True,
    "output": {"schema": {"type": "object"}},
    "logprobs": True,
    "top_logprobs": 2,
    "cache": "1h",
    "prompt_cache_key": "group",
    "compact_at": 50_000,
    "clear_tool_results_at": 50_000,
    "betas": ["b"],
    "extra_body": {"extra": 1},
    "extra_headers": {"x-extra": "1"},
    **{name: value for name, (value, _) in PLACES.items()},
}
# The others cache by themselves, for a time that cannot be chosen.
CACHES_ON_REQUEST = {"anthropic", "bedrock"}


@pytest.mark.parametrize("dialect", REQUEST_ENCODERS)
def test_every_option_changes_the_call_or_is_refused_by_name(dialect: str) -> None:
    assert SAMPLES.keys() == set(Options.__struct_fields__)
    provider = next(name for name, row in CATALOG.items() if row.dialect == dialect)
    model = f"{provider}:{MODELS.get(dialect, 'm')}"
    tools = (ToolSpec(name="look"),)
    plain = call_with(model, tools=tools)
    for name, value in SAMPLES.items():
        refused: UsageError | None = None
        try:
            is_changed = call_with(model, tools=tools, **{name: value}) != plain
        except UsageError as error:
            refused = error
        else:
            assert is_changed or (name == "cache" and dialect not in CACHES_ON_REQUEST), name
        assert refused is None or f"has no option '{name}'" in str(refused)


def test_what_a_provider_lacks_is_refused() -> None:
    with pytest.raises(UsageError, match="no option 'top_k'"):
        model_for("openai-chat:gpt-5", api_key="k").call(
            Request(model="m", messages=(Message.user("?"),), options=Options(top_k=3))
        )


def test_a_single_text_may_stand_for_a_list() -> None:
    assert parse_options({"stop": "x", "betas": "b"}) == Options(stop=("x",), betas=("b",))


def test_the_numbers_of_tokens_may_be_numbers() -> None:
    assert parse_options({"logit_bias": {50256: -100}}) == Options(logit_bias={"50256": -100})
    with pytest.raises(UsageError, match="logit_bias"):
        parse_options({"logit_bias": {1.5: -100}})


def test_several_candidates_are_refused_with_advice() -> None:
    with pytest.raises(UsageError, match="'n': ask several times at once"):
        headrace.stream("vllm:m", "?", n=2)  # type: ignore[call-arg]


# --- the escape hatch ------------------------------------------------------------------


def call_with(
    model: str, tools: tuple[ToolSpec, ...] = (), **options: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    address = "https://a.example" if model.startswith("bedrock") else None
    endpoint = model_for(model, api_key="sk-secret-1234567890", base_url=address).endpoint
    request = Request(
        model=endpoint.model,
        messages=(Message.user("?"),),
        tools=tools,
        options=parse_options(options),
    )
    call = encode_call(endpoint, request)
    return json.loads(call.body), call.headers


def test_extra_fields_are_merged_into_the_body() -> None:
    extra = {"reasoning": {"summary": None, "new": 1}, "stream": "yes", "include": ["x"]}
    body, _ = call_with("openai:gpt-5", effort="low", extra_body=extra)
    assert body["reasoning"] == {"effort": "low", "summary": None, "new": 1}
    assert body["stream"] == "yes"
    assert body["include"] == ["x"]


def test_extra_headers_are_sent_and_replace_our_own() -> None:
    _, headers = call_with(
        "anthropic:claude-sonnet-4-5",
        extra_headers={"X-Trace": "t", "Anthropic-Version": "2030-01-01"},
    )
    assert headers["x-trace"] == "t"
    assert headers["anthropic-version"] == "2030-01-01"
    assert len({name.lower() for name in headers}) == len(headers)


def test_betas_are_in_the_body_on_bedrock() -> None:
    body, headers = call_with("bedrock-anthropic:anthropic.claude-x", betas=["a", "b"])
    assert body["anthropic_beta"] == ["a", "b"]
    assert "anthropic-beta" not in headers
    body, headers = call_with("bedrock:anthropic.claude-x", betas=["a"])
    assert body["additionalModelRequestFields"]["anthropic_beta"] == ["a"]
    assert "anthropic-beta" not in headers


def test_betas_become_a_header_and_are_refused_elsewhere() -> None:
    _, headers = call_with("anthropic:claude-sonnet-4-5", betas=["context-1m", "files"])
    assert headers["anthropic-beta"] == "context-1m,files"
    with pytest.raises(UsageError, match="no option 'betas'"):
        call_with("openai:gpt-5", betas=["x"])


def test_extra_headers_are_never_shown() -> None:
    secret = "hunter2-hunter2-hunter2"
    options = Options(extra_headers={"x-key": secret}, max_tokens=3)
    agent = headrace.Agent("vllm:m", max_tokens=3, extra_headers={"x-key": secret})
    assert repr(options) == "Options(max_tokens=3, extra_headers=…)"
    assert secret not in repr(options) + repr(agent.options) + str(options.__rich_repr__())
    request = Request(model="m", messages=(), options=options)
    assert secret not in repr(request)
    try:
        parse_options({"extra_headers": {"x": secret}, "max_tokens": "many"})
    except UsageError:
        assert secret not in traceback.format_exc()


# --- timeouts --------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "5"])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    with pytest.raises(UsageError, match="timeout must be a number of seconds, more than 0"):
        headrace.stream("vllm:m", "?", timeout=timeout)


def test_a_timeout_is_for_the_transport_that_is_made() -> None:
    with pytest.raises(UsageError, match="has its own timeouts"):
        headrace.stream("vllm:m", "?", timeout=3, transport=ScriptedTransport(["Hi."]))
    with pytest.raises(UsageError, match="more than 0"):
        headrace.stream("vllm:m", "?", timeout=0)
    model = model_for("vllm:m", timeout=2.5)
    assert model.transport._timeouts == headrace.Timeouts(  # type: ignore[attr-defined]
        connect_s=2.5, first_event_s=2.5, idle_s=2.5
    )
    assert headrace.complete("rehearsal:m", "Hello", timeout=30).text
