"""Rows of the companies that host open models, and of gateways to other providers."""

from __future__ import annotations

from typing import Final

from headrace.encoders.chat.quirks import ChatRequestQuirks
from headrace.providers.provider import Provider

HOSTS: Final[tuple[Provider, ...]] = (
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
            cache="marked",
            has_web_plugin=True,
            lacks=(),
            replays="reasoning_details",
            effort="reasoning",
            takes_file_urls=True,
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
        name="nvidia",
        title="NVIDIA NIM",
        base_url="https://integrate.api.nvidia.com/v1",
        key_variables=("NVIDIA_API_KEY",),
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_content", effort="chat_template_kwargs"
        ),
        verified="recorded",
        source="https://docs.api.nvidia.com/nim/reference/llm-apis",
    ),
    Provider(
        name="vercel",
        title="Vercel AI Gateway",
        base_url="https://ai-gateway.vercel.sh/v1",
        key_variables=("AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
        request_quirks=ChatRequestQuirks(lacks=(), replays="reasoning_details", effort="reasoning"),
        verified="recorded",
        source="https://vercel.com/docs/ai-gateway/openai-compat",
    ),
    Provider(
        name="copilot",
        title="GitHub Copilot",
        base_url="https://api.githubcopilot.com",
        key_variables=("GITHUB_COPILOT_API_KEY",),
        headers={
            "copilot-integration-id": "vscode-chat",
            "editor-version": "vscode/1.104.1",
            "openai-intent": "conversation-edits",
        },
        image_headers={"copilot-vision-request": "true"},
        initiator_header="x-initiator",
        request_quirks=ChatRequestQuirks(replays="reasoning_text", effort="reasoning_effort"),
        verified="recorded",
        source="https://docs.github.com/en/copilot",
    ),
    Provider(
        name="baseten",
        title="Baseten",
        base_url="https://inference.baseten.co/v1",
        key_variables=("BASETEN_API_KEY",),
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_content", effort="reasoning_effort"
        ),
        verified="recorded",
        source="https://docs.baseten.co/development/model-apis/overview",
    ),
    Provider(
        name="doubleword",
        title="Doubleword",
        base_url="https://api.doubleword.ai/v1",
        key_variables=("DOUBLEWORD_API_KEY",),
        request_quirks=ChatRequestQuirks(
            lacks=(), replays="reasoning_content", effort="reasoning_effort"
        ),
        verified="recorded",
        source="https://docs.doubleword.ai",
    ),
)
