"""Rows of the clouds that serve models of several vendors under an account of their own."""

from __future__ import annotations

from typing import Final

from headrace.encoders.chat.quirks import ChatRequestQuirks
from headrace.providers.provider import Provider

CLOUDS: Final[tuple[Provider, ...]] = (
    Provider(
        name="azure",
        title="Azure OpenAI (Responses)",
        dialect="responses",
        path="/responses",
        key_variables=("AZURE_OPENAI_API_KEY",),
        base_url_variable="AZURE_OPENAI_BASE_URL",
        auth="api-key",
        identity="azure",
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
        identity="azure",
        verified="recorded",
        source="https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
    ),
    Provider(
        name="vertex",
        title="Google Vertex AI",
        dialect="gemini",
        path="/publishers/google/models/{model}:streamGenerateContent?alt=sse",
        key_variables=("VERTEX_ACCESS_TOKEN",),
        base_url_variable="VERTEX_BASE_URL",
        identity="google",
        verified="recorded",
        source="https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
    ),
    Provider(
        name="vertex-anthropic",
        title="Google Vertex AI (Anthropic Messages)",
        dialect="anthropic",
        path="/publishers/anthropic/models/{model}:streamRawPredict",
        key_variables=("VERTEX_ACCESS_TOKEN",),
        base_url_variable="VERTEX_BASE_URL",
        body_fields={"anthropic_version": "vertex-2023-10-16"},
        unsent_fields=("model",),
        identity="google",
        verified="recorded",
        source="https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude",
    ),
    Provider(
        name="bedrock",
        title="Amazon Bedrock (Converse)",
        dialect="bedrock",
        base_url="https://bedrock-runtime.{region}.amazonaws.com",
        path="/model/{model}/converse-stream",
        framing="aws-event-stream",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        base_url_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        region_variables=("AWS_REGION", "AWS_DEFAULT_REGION"),
        auth="aws",
        betas_field="additionalModelRequestFields.anthropic_beta",
        verified="recorded",
        source="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html",
    ),
    Provider(
        name="bedrock-anthropic",
        title="Amazon Bedrock (Anthropic Messages)",
        dialect="anthropic",
        base_url="https://bedrock-runtime.{region}.amazonaws.com",
        path="/model/{model}/invoke-with-response-stream",
        framing="aws-event-stream",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        base_url_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        region_variables=("AWS_REGION", "AWS_DEFAULT_REGION"),
        auth="aws",
        body_fields={"anthropic_version": "bedrock-2023-05-31"},
        unsent_fields=("model", "stream"),
        betas_field="anthropic_beta",
        verified="recorded",
        source="https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html",
    ),
)
