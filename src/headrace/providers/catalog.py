"""The catalog: one row per provider.

A provider that uses a known dialect needs only a row here; a recorded stream proves it.
"""

from __future__ import annotations

from typing import Final

from headrace.encoders.chat.quirks import ChatRequestQuirks
from headrace.providers.provider import Provider

_ROWS: tuple[Provider, ...] = (
    Provider(
        name="openai",
        title="OpenAI (Responses)",
        dialect="responses",
        base_url="https://api.openai.com/v1",
        path="/responses",
        key_variables=("OPENAI_API_KEY",),
        base_url_variable="OPENAI_BASE_URL",
        verified="recorded",
        source="https://platform.openai.com/docs/api-reference/responses",
    ),
    Provider(
        name="openai-chat",
        title="OpenAI (Chat Completions)",
        base_url="https://api.openai.com/v1",
        key_variables=("OPENAI_API_KEY",),
        base_url_variable="OPENAI_BASE_URL",
        request_quirks=ChatRequestQuirks(
            max_tokens_field="max_completion_tokens", effort="reasoning_effort"
        ),
        verified="recorded",
        source="https://platform.openai.com/docs/api-reference/chat",
    ),
    Provider(
        name="azure",
        title="Azure OpenAI (Responses)",
        dialect="responses",
        path="/responses",
        key_variables=("AZURE_OPENAI_API_KEY",),
        base_url_variable="AZURE_OPENAI_BASE_URL",
        auth="api-key",
        verified="recorded",
        source="https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
    ),
    Provider(
        name="azure-chat",
        title="Azure OpenAI (Chat Completions)",
        key_variables=("AZURE_OPENAI_API_KEY",),
        base_url_variable="AZURE_OPENAI_BASE_URL",
        auth="api-key",
        request_quirks=ChatRequestQuirks(
            max_tokens_field="max_completion_tokens", effort="reasoning_effort"
        ),
        verified="recorded",
        source="https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
    ),
    Provider(
        name="anthropic",
        title="Anthropic",
        dialect="anthropic",
        base_url="https://api.anthropic.com",
        path="/v1/messages",
        key_variables=("ANTHROPIC_API_KEY",),
        base_url_variable="ANTHROPIC_BASE_URL",
        auth="x-api-key",
        headers={"anthropic-version": "2023-06-01"},
        verified="recorded",
        source="https://docs.anthropic.com/en/api/messages-streaming",
    ),
    Provider(
        name="gemini",
        title="Google Gemini",
        dialect="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        path="/models/{model}:streamGenerateContent?alt=sse",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        auth="x-goog-api-key",
        verified="recorded",
        source="https://ai.google.dev/api/generate-content",
    ),
    Provider(
        name="vertex",
        title="Google Vertex AI",
        dialect="gemini",
        path="/publishers/google/models/{model}:streamGenerateContent?alt=sse",
        key_variables=("VERTEX_ACCESS_TOKEN",),
        base_url_variable="VERTEX_BASE_URL",
        verified="recorded",
        source="https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
    ),
    Provider(
        name="deepseek",
        title="DeepSeek",
        base_url="https://api.deepseek.com",
        key_variables=("DEEPSEEK_API_KEY",),
        request_quirks=ChatRequestQuirks(
            replays="reasoning_content",
            blank_reasoning="",
            effort="thinking_effort",
            efforts=("low", "high", "max"),
            lacks=("output", "seed", "top_k", "logit_bias"),
        ),
        output_mode="tool",
        forces_tools=False,
        verified="recorded",
        source="https://api-docs.deepseek.com/guides/thinking_mode",
    ),
    Provider(
        name="zai",
        title="Z.ai (GLM)",
        base_url="https://api.z.ai/api/paas/v4",
        key_variables=("ZAI_API_KEY", "ZHIPUAI_API_KEY"),
        request_quirks=ChatRequestQuirks(
            replays="reasoning_content",
            blank_reasoning="",
            effort="thinking",
            lacks=(
                "output",
                "seed",
                "top_k",
                "logit_bias",
                "frequency_penalty",
                "presence_penalty",
            ),
        ),
        output_mode="tool",
        forces_tools=False,
        verified="recorded",
        source="https://docs.z.ai/guides/capabilities/thinking-mode",
    ),
    Provider(
        name="alibaba",
        title="Alibaba Model Studio (Qwen)",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variables=("DASHSCOPE_API_KEY",),
        base_url_variable="DASHSCOPE_BASE_URL",
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_content", effort="enable_thinking"
        ),
        output_mode="tool",
        forces_tools=False,
        verified="recorded",
        source="https://www.alibabacloud.com/help/en/model-studio/deep-thinking",
    ),
    Provider(
        name="moonshot",
        title="Moonshot (Kimi)",
        base_url="https://api.moonshot.ai/v1",
        key_variables=("MOONSHOT_API_KEY",),
        # A blank, since Kimi takes an empty text for a missing one.
        request_quirks=ChatRequestQuirks(
            replays="reasoning_content", blank_reasoning=" ", effort="thinking"
        ),
        verified="recorded",
        source="https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model",
    ),
    Provider(
        name="mistral",
        title="Mistral",
        base_url="https://api.mistral.ai/v1",
        key_variables=("MISTRAL_API_KEY",),
        request_quirks=ChatRequestQuirks(
            replays="thinking_parts",
            effort="reasoning_effort",
            call_id_pattern="[A-Za-z0-9]{9}",
            asks_for_usage=False,
            lacks=("seed", "top_k", "logit_bias"),
        ),
        verified="recorded",
        source="https://docs.mistral.ai/capabilities/reasoning",
    ),
    Provider(
        name="groq",
        title="Groq",
        base_url="https://api.groq.com/openai/v1",
        key_variables=("GROQ_API_KEY",),
        request_quirks=ChatRequestQuirks(
            max_tokens_field="max_completion_tokens",
            replays="reasoning",
            effort="reasoning_effort",
            efforts=("none", "low", "medium", "high"),
        ),
        # A schema is refused for streams: https://console.groq.com/docs/structured-outputs
        output_mode="tool",
        verified="recorded",
        source="https://console.groq.com/docs/reasoning",
    ),
    Provider(
        name="openrouter",
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key_variables=("OPENROUTER_API_KEY",),
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_details", effort="reasoning", takes_file_urls=True
        ),
        verified="recorded",
        source="https://openrouter.ai/docs/use-cases/reasoning-tokens",
    ),
    Provider(
        name="together",
        title="Together AI",
        base_url="https://api.together.xyz/v1",
        key_variables=("TOGETHER_API_KEY",),
        request_quirks=ChatRequestQuirks(lacks=(), replays="reasoning", effort="reasoning_effort"),
        verified="recorded",
        source="https://docs.together.ai/docs/reasoning-overview",
    ),
    Provider(
        name="fireworks",
        title="Fireworks AI",
        base_url="https://api.fireworks.ai/inference/v1",
        key_variables=("FIREWORKS_API_KEY",),
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_content", effort="reasoning_effort"
        ),
        verified="documented",
        source="https://docs.fireworks.ai/guides/reasoning",
    ),
    Provider(
        name="cerebras",
        title="Cerebras",
        base_url="https://api.cerebras.ai/v1",
        key_variables=("CEREBRAS_API_KEY",),
        request_quirks=ChatRequestQuirks(
            max_tokens_field="max_completion_tokens",
            replays="reasoning",
            effort="reasoning_effort",
            efforts=("none", "low", "medium", "high"),
        ),
        verified="documented",
        source="https://inference-docs.cerebras.ai/capabilities/reasoning",
    ),
    Provider(
        name="perplexity",
        title="Perplexity",
        base_url="https://api.perplexity.ai",
        key_variables=("PERPLEXITY_API_KEY",),
        request_quirks=ChatRequestQuirks(
            effort="reasoning_effort",
            efforts=("minimal", "low", "medium", "high"),
            asks_for_usage=False,
            lacks=("seed", "top_k", "logit_bias"),
        ),
        verified="recorded",
        source="https://docs.perplexity.ai/api-reference/chat-completions-post",
    ),
    Provider(
        name="huggingface",
        title="Hugging Face Inference Providers",
        base_url="https://router.huggingface.co/v1",
        key_variables=("HF_TOKEN",),
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_content", effort="reasoning_effort"
        ),
        verified="recorded",
        source="https://huggingface.co/docs/inference-providers/tasks/chat-completion",
    ),
    Provider(
        name="xai",
        title="xAI (Responses)",
        dialect="responses",
        base_url="https://api.x.ai/v1",
        path="/responses",
        key_variables=("XAI_API_KEY",),
        verified="recorded",
        source="https://docs.x.ai/docs/guides/responses-api",
    ),
    Provider(
        name="xai-chat",
        title="xAI (Chat Completions)",
        base_url="https://api.x.ai/v1",
        key_variables=("XAI_API_KEY",),
        request_quirks=ChatRequestQuirks(effort="reasoning_effort", efforts=("low", "high")),
        verified="recorded",
        source="https://docs.x.ai/docs/guides/reasoning",
    ),
    Provider(
        name="xai-grpc",
        title="xAI (gRPC)",
        dialect="xai",
        base_url="https://api.x.ai",
        path="/xai_api.Chat/GetCompletionChunk",
        framing="grpc",
        transport="grpc",
        key_variables=("XAI_API_KEY",),
        verified="documented",
        source="https://github.com/xai-org/xai-proto",
    ),
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
CATALOG: Final[dict[str, Provider]] = {row.name: row for row in _ROWS}
"""The providers by name."""
