"""Rows of servers that users run themselves, and of the rehearsal."""

from __future__ import annotations

from typing import Final

from headrace.encoders.chat.quirks import ChatRequestQuirks
from headrace.providers.provider import Provider

OWN_SERVERS: Final[tuple[Provider, ...]] = (
    Provider(
        name="ollama",
        title="Ollama",
        dialect="ollama",
        base_url="http://127.0.0.1:11434",
        path="/api/chat",
        framing="ndjson",
        base_url_variable="OLLAMA_HOST",
        default_port=11434,
        auth="none",
        output_mode_with_tools="tool",
        forces_tools=False,
        verified="recorded",
        source="https://docs.ollama.com/api/chat",
    ),
    Provider(
        name="ollama-generate",
        title="Ollama (generate)",
        dialect="ollama",
        request_encoder="ollama-generate",
        base_url="http://127.0.0.1:11434",
        path="/api/generate",
        framing="ndjson",
        base_url_variable="OLLAMA_HOST",
        default_port=11434,
        auth="none",
        forces_tools=False,
        verified="recorded",
        source="https://docs.ollama.com/api/generate",
    ),
    Provider(
        name="lmstudio",
        title="LM Studio",
        base_url="http://127.0.0.1:1234/v1",
        base_url_variable="LMSTUDIO_BASE_URL",
        auth="none",
        request_quirks=ChatRequestQuirks(lacks=(), replays="reasoning_content"),
        verified="documented",
        source="https://lmstudio.ai/docs/developer/openai-compat",
    ),
    Provider(
        name="vllm",
        title="vLLM",
        base_url="http://127.0.0.1:8000/v1",
        base_url_variable="VLLM_BASE_URL",
        auth="none",
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning", effort="chat_template_kwargs"
        ),
        verified="recorded",
        source="https://docs.vllm.ai/en/latest/features/reasoning_outputs.html",
    ),
    Provider(
        name="llamacpp",
        title="llama.cpp server",
        base_url="http://127.0.0.1:8080/v1",
        base_url_variable="LLAMACPP_BASE_URL",
        auth="none",
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_content", effort="chat_template_kwargs"
        ),
        output_mode_with_tools="tool",
        verified="recorded",
        source="https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
    ),
    Provider(
        name="mistralrs",
        title="mistral.rs",
        base_url="http://127.0.0.1:1234/v1",
        base_url_variable="MISTRALRS_BASE_URL",
        auth="none",
        request_quirks=ChatRequestQuirks(lacks=(), replays="reasoning_content"),
        verified="recorded",
        source="https://github.com/EricLBuehler/mistral.rs/blob/master/docs/HTTP.md",
    ),
    Provider(
        name="gpustack",
        title="GPUStack",
        key_variables=("GPUSTACK_API_KEY",),
        base_url_variable="GPUSTACK_BASE_URL",
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_content", effort="chat_template_kwargs"
        ),
        verified="recorded",
        source="https://docs.gpustack.ai/latest/user-guide/openai-compatible-apis/",
    ),
    Provider(
        name="compatible",
        title="Any OpenAI-compatible server",
        key_variables=("COMPATIBLE_API_KEY",),
        base_url_variable="COMPATIBLE_BASE_URL",
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_content", effort="reasoning_effort"
        ),
        verified="recorded",
        source="https://platform.openai.com/docs/api-reference/chat",
    ),
    Provider(
        name="rehearsal",
        title="Rehearsal (no model, no key, no network)",
        dialect="responses",
        base_url="rehearsal://stage",
        transport="rehearsal",
        auth="none",
        verified="documented",
        source="https://platform.openai.com/docs/api-reference/responses",
    ),
)
