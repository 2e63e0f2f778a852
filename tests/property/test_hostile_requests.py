"""Readers of requests take any JSON: they read it, or say what is wrong with it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.encoders.anthropic.request import encode_anthropic
from headrace.encoders.chat.request import encode_chat
from headrace.errors import UsageError
from headrace.readers import InvalidRequest, anthropic_messages, openai_chat

KEYS = st.sampled_from(
    "role content type text name id input arguments function tool_calls tool_use_id tool_call_id"
    " thinking signature data source url image_url media_type cache_control thinking_blocks"
    " reasoning_details extra_content google thought_signature custom schema json_schema enabled"
    " user_location city allowed_domains max_uses budget_tokens effort format max_tokens file"
    " input_audio refusal citations".split()
)
WORDS = st.sampled_from(
    "user assistant system tool text image document tool_use tool_result thinking"
    " redacted_thinking image_url file function custom json_schema enabled headrace1.xx;"
    " web_search_20250305 mcp_toolset headrace1.e30=; data:image/png;base64,QQ=="
    " server_tool_use url base64 auto".split()
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
# pyright: reportPrivateUsage=false
FIELDS = {
    "chat": (openai_chat, sorted(openai_chat._Body.__struct_fields__)),
    "anthropic": (anthropic_messages, sorted(anthropic_messages._Body.__struct_fields__)),
}
ENCODERS: dict[str, Any] = {"chat": encode_chat, "anthropic": encode_anthropic}
BODY: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}


@pytest.mark.parametrize("grammar", FIELDS)
@given(st.data())
def test_any_json_is_read_or_refused(grammar: str, data: st.DataObject) -> None:
    reader, names = FIELDS[grammar]
    name = data.draw(st.sampled_from(names))
    with suppress(InvalidRequest, UsageError):
        asked = reader.read_request({**BODY, name: data.draw(ANYTHING)})
        # What the provider cannot do is refused by its encoder.
        ENCODERS[grammar](asked.request)


@pytest.mark.parametrize("grammar", FIELDS)
@given(st.lists(st.dictionaries(KEYS, ANYTHING, max_size=5), min_size=1, max_size=3))
def test_any_messages_are_read_or_refused(grammar: str, messages: list[Any]) -> None:
    reader, _ = FIELDS[grammar]
    for role in ("user", "assistant", "tool", "system"):
        told = [{**message, "role": role} for message in messages]
        with suppress(InvalidRequest, UsageError):
            ENCODERS[grammar](reader.read_request({**BODY, "messages": told}).request)


def test_deep_arguments_are_read() -> None:
    deep: Any = {}
    for _ in range(900):
        deep = {"a": deep}
    call = {"type": "tool_use", "id": "c", "name": "f", "input": deep}
    messages = [*BODY["messages"], {"role": "assistant", "content": [call]}]
    assert anthropic_messages.read_request({**BODY, "messages": messages}).dialect == "anthropic"
