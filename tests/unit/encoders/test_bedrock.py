"""Bodies of Converse requests, judged by botocore's own description of the service."""

from __future__ import annotations

from base64 import b64encode
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.content import CacheBreak, FileContent, ImageContent, JSONContent, TextContent
from headrace.encoders import OutputSchema, ToolSpec, encode_bedrock
from headrace.encoders.model_family import parse_family
from headrace.errors import UsageError
from headrace.messages import Message
from tests.published import accepts
from tests.unit.encoders.answers import assert_every_call_is_answered
from tests.unit.encoders.conversation import (
    asked,
    call,
    output,
    plain,
    redacted,
    request,
    result,
    said,
    text,
    thought,
)

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NEW_CLAUDE = "anthropic.claude-opus-4-6-v1"
NOVA = "us.amazon.nova-2-lite-v1:0"
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
LOOK = ToolSpec(name="look", description="Looks.", parameters={"type": "object", "properties": {}})
DATA = b64encode(b"data").decode()


def body(*messages: Message, model: str = CLAUDE, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = plain(encode_bedrock(request(*messages, model=model, **more)))
    accepts("bedrock", made)
    assert_every_call_is_answered("bedrock", made)
    return made


def reply(*parts: Any, **more: Any) -> Message:
    return said(*parts, **{"dialect": "bedrock", "model": CLAUDE, **more})


def blocks(message: Message, **more: Any) -> Any:
    return body(asked("hi"), message, asked("go on"), **more)["messages"][1]["content"]


def test_a_question_and_instructions() -> None:
    made = body(asked("hi"), asked("Be brief.", role="system"), instructions="Be kind.")
    assert made == {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "system": [{"text": "Be kind."}, {"text": "Be brief."}],
    }


# -- replies


def test_signed_and_redacted_reasoning_goes_back() -> None:
    made = blocks(reply(thought(0, "Hm.", signature="sig"), redacted(1, DATA), text(2, "Yes.")))
    assert made == [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "sig"}}},
        {"reasoningContent": {"redactedContent": DATA}},
        {"text": "Yes."},
    ]


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"dialect": "anthropic"},
        {"provider": "other"},
        {"model": "amazon.nova-2-lite-v1:0"},
    ],
)
def test_reasoning_of_another_model_stays_away(elsewhere: dict[str, Any]) -> None:
    made = blocks(
        reply(thought(0, "Hm.", signature="sig"), redacted(1, DATA), text(2, "Yes."), **elsewhere)
    )
    assert made == [{"text": "Yes."}]


def test_reasoning_without_a_signature_or_a_sequel_stays_away() -> None:
    assert blocks(reply(thought(0, "Hm."), text(1, "Yes."))) == [{"text": "Yes."}]
    last = reply(text(0, "Yes."), thought(1, "Hm.", signature="s"))
    assert blocks(last) == [{"text": "Yes."}]


def test_calls_and_their_results() -> None:
    results = (result("c1", JSONContent({"n": 1})), result("c2", TextContent("no"), is_error=True))
    made = body(
        asked("hi"),
        reply(text(0, "I look."), call(1, "c1"), call(2, "c2", raw="{}"), results=results),
        tools=(LOOK,),
    )
    assert made["messages"][1]["content"] == [
        {"text": "I look."},
        {"toolUse": {"toolUseId": "c1", "name": "look", "input": {"a": 1}}},
        {"toolUse": {"toolUseId": "c2", "name": "look", "input": {}}},
    ]
    assert made["messages"][2] == {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "c1", "content": [{"json": {"n": 1}}]}},
            {"toolResult": {"toolUseId": "c2", "content": [{"text": "no"}], "status": "error"}},
        ],
    }


@pytest.mark.parametrize("value", [[1], 5, "x", None, {}])
def test_json_in_results_that_is_no_object_is_text(value: Any) -> None:
    results = (result("c1", JSONContent(value)),)
    made = body(asked("hi"), reply(call(0, "c1"), results=results), tools=(LOOK,))
    assert "text" in made["messages"][2]["content"][0]["toolResult"]["content"][0]


def test_what_bedrock_ran_goes_back_to_it_alone() -> None:
    ran = [
        call(0, "s1", executor="provider", provider_data={"type": "server_tool_use"}),
        output(1, "s1", JSONContent({"n": 1}), provider_data={"type": "r"}),
        text(2, "Yes."),
    ]
    assert blocks(reply(*ran)) == [
        {
            "toolUse": {
                "toolUseId": "s1",
                "name": "look",
                "input": {"a": 1},
                "type": "server_tool_use",
            }
        },
        {"toolResult": {"toolUseId": "s1", "content": [{"json": {"n": 1}}], "type": "r"}},
        {"text": "Yes."},
    ]
    assert blocks(reply(*ran, provider="other")) == [{"text": "Yes."}]


# -- tools


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("auto", {"auto": {}}), ("required", {"any": {}}), ("look", {"tool": {"name": "look"}})],
)
def test_the_tool_choice(choice: str, expected: Any) -> None:
    assert body(tools=(LOOK,), tool_choice=choice)["toolConfig"]["toolChoice"] == expected


def test_tools_are_described() -> None:
    strict = ToolSpec(name="s", parameters={"type": "object"}, is_strict=True)
    assert body(tools=(LOOK, strict))["toolConfig"] == {
        "tools": [
            {
                "toolSpec": {
                    "name": "look",
                    "description": "Looks.",
                    "inputSchema": {"json": {"type": "object", "properties": {}}},
                }
            },
            {
                "toolSpec": {
                    "name": "s",
                    "inputSchema": {"json": {"type": "object"}},
                    "strict": True,
                }
            },
        ]
    }


def test_without_tools_those_that_were_called_are_listed() -> None:
    assert "toolConfig" not in body(tools=(LOOK,), tool_choice="none")
    history = (asked("hi"), reply(call(0, "c1"), results=(result("c1", TextContent("a")),)))
    other = ToolSpec(name="other")
    bodies = [body(*history), body(*history, tools=(LOOK, other), tool_choice="none")]
    for made in bodies:
        config = made["toolConfig"]
        assert [tool["toolSpec"]["name"] for tool in config["tools"]] == ["look"]
        assert "toolChoice" not in config


# -- options


def test_sampling_options() -> None:
    made = body(max_tokens=9, temperature=0.5, top_p=0.9, stop=("x",), service_tier="flex")
    assert made["inferenceConfig"] == {
        "maxTokens": 9,
        "temperature": 0.5,
        "topP": 0.9,
        "stopSequences": ["x"],
    }
    assert made["serviceTier"] == {"type": "flex"}


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        (NEW_CLAUDE, "high", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
        (CLAUDE, "low", {"thinking": {"type": "enabled", "budget_tokens": 2_048}}),
        (CLAUDE, "none", None),
        (NOVA, "max", {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}}),
        (NOVA, "none", {"reasoningConfig": {"type": "disabled"}}),
        ("openai.gpt-oss-120b-1:0", "minimal", {"reasoning_effort": "low"}),
        ("meta.llama3-8b-instruct-v1:0", "none", None),
    ],
)
def test_the_effort_is_in_the_words_of_the_model(model: str, effort: Any, expected: Any) -> None:
    made = body(model=model, effort=effort)
    assert made.get("additionalModelRequestFields") == expected


def test_a_budget_leaves_room_for_the_answer() -> None:
    assert body(effort="low")["inferenceConfig"]["maxTokens"] > 2_048


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("meta.llama3-8b-instruct-v1:0", {"effort": "low"}, "no option 'effort'"),
        ("amazon.nova-pro-v1:0", {"effort": "low"}, "no option 'effort'"),
        ("meta.llama3-8b-instruct-v1:0", {"top_k": 3}, "no option 'top_k'"),
        ("anthropic.claude-opus-4-7-v1", {"temperature": 0.5}, "no option 'temperature'"),
        (CLAUDE, {"effort": "low", "temperature": 0.5}, "does not think with temperature"),
        (CLAUDE, {"cache": "24h"}, "5m or 1h"),
        (CLAUDE, {"seed": 1}, "no option 'seed'"),
    ],
)
def test_what_is_not_possible_is_refused_by_name(
    model: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        body(model=model, **options)


def test_top_k_is_in_the_words_of_the_model() -> None:
    assert body(top_k=3)["additionalModelRequestFields"] == {"top_k": 3}
    nova = body(top_k=3, model="amazon.nova-pro-v1:0")["additionalModelRequestFields"]
    assert nova == {"inferenceConfig": {"topK": 3}}


def test_a_schema_is_a_text_format() -> None:
    schema = OutputSchema(name="n", schema={"type": "integer", "minimum": 3})
    structure = body(output=schema)["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert structure == {"name": "n", "schema": '{"type":"integer","description":"minimum: 3"}'}
    nova = body(output=schema, model="amazon.nova-pro-v1:0")["outputConfig"]
    assert '"minimum":3' in nova["textFormat"]["structure"]["jsonSchema"]["schema"]


# -- images and files


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            ImageContent(media_type="image/jpg", data=DATA),
            {"image": {"format": "jpeg", "source": {"bytes": DATA}}},
        ),
        (
            ImageContent(media_type="image/png", url="s3://b/k"),
            {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k"}}}},
        ),
        (
            FileContent(media_type="application/pdf", name="a_b.c/d.pdf", data=DATA),
            {"document": {"format": "pdf", "name": "a b c d", "source": {"bytes": DATA}}},
        ),
        (
            FileContent(media_type="video/mp4", data=DATA),
            {"video": {"format": "mp4", "source": {"bytes": DATA}}},
        ),
        (
            FileContent(media_type="audio/mpeg", data=DATA),
            {"audio": {"format": "mp3", "source": {"bytes": DATA}}},
        ),
        (FileContent(media_type="text/x-python", name="a.py", data=DATA), {"text": "a.py:\ndata"}),
    ],
)
def test_media(entry: Any, expected: Any) -> None:
    assert body(asked("hi", entry))["messages"][0]["content"] == [{"text": "hi"}, expected]


def test_documents_have_names_of_their_own() -> None:
    files = [
        FileContent(media_type="text/csv", name=n, data=DATA) for n in ("a.csv", "a.csv", "日")
    ]
    content = body(asked("hi", *files))["messages"][0]["content"]
    names = [block["document"]["name"] for block in content[1:]]
    assert names == ["a", "a 2", "document"]


@pytest.mark.parametrize(
    "entry",
    [
        ImageContent(media_type="image/tiff", data=DATA),
        ImageContent(media_type="image/png", url="https://a/b.png"),
        FileContent(media_type="application/zip", data=DATA),
    ],
)
def test_media_that_bedrock_does_not_read_is_refused(entry: Any) -> None:
    with pytest.raises(UsageError, match="Bedrock"):
        body(asked("hi", entry))


# -- caching


def points(made: dict[str, Any]) -> list[str]:
    places = {
        "tools": made.get("toolConfig", {}).get("tools", []),
        "system": made.get("system", []),
    }
    places |= {f"message {n}": m["content"] for n, m in enumerate(made["messages"])}
    return [name for name, found in places.items() for block in found if "cachePoint" in block]


def test_the_cache_is_filled_up_to_the_end_of_every_part() -> None:
    made = body(asked("hi"), tools=(LOOK,), instructions="Be kind.", cache="1h")
    assert points(made) == ["tools", "system", "message 0"]
    assert made["system"][-1] == {"cachePoint": {"type": "default", "ttl": "1h"}}


def test_a_cache_break_is_a_point() -> None:
    made = body(asked("long", CacheBreak(), "short"))
    assert made["messages"][0]["content"] == [
        {"text": "long"},
        {"cachePoint": {"type": "default"}},
        {"text": "short"},
    ]


def test_there_are_never_more_than_four_points() -> None:
    many = asked(*(entry for n in range(6) for entry in (f"{n}", CacheBreak())), "end")
    assert len(points(body(many))) == 4
    assert len(points(body(many, tools=(LOOK,), instructions="i", cache=True))) == 4


@pytest.mark.parametrize("cache", [None, True, "5m", "1h"])
@given(data=st.data())
def test_points_are_within_the_limits_of_bedrock(cache: Any, data: st.DataObject) -> None:
    """Four at most, each behind something that may be cached, and none kept longer than an earlier
    one. `body` has botocore judge them."""
    pdf = FileContent(media_type="application/pdf", data=DATA, name="a")
    image = ImageContent(media_type="image/png", data=DATA)
    breaks = [CacheBreak(), CacheBreak(ttl="5m"), CacheBreak(ttl="1h")]
    choices: list[Any] = ["a", pdf, image, *breaks]
    entries = st.lists(st.sampled_from(choices), max_size=8)
    messages = [asked("first", *data.draw(entries), "end"), asked(*data.draw(entries), "x")]
    made = body(*messages, tools=(LOOK,), instructions="i", cache=cache)
    parts = [made["toolConfig"]["tools"], made["system"], *(m["content"] for m in made["messages"])]
    found: list[Any] = []
    for blocks in parts:
        assert "cachePoint" not in blocks[0]
        for before, block in pairwise(blocks):
            if "cachePoint" in block:
                assert not {"cachePoint", "document", "video"} & set(before)
                found.append(block["cachePoint"].get("ttl"))
    assert len(found) <= 4
    assert "1h" not in found[len([ttl for ttl in found if ttl == "1h"]) :]
    if cache:
        assert "cachePoint" in parts[-1][-1]


def test_a_point_is_before_the_documents_at_the_end() -> None:
    pdf = FileContent(media_type="application/pdf", data=DATA, name="a")
    kinds = [
        next(iter(block)) for block in body(asked("hi", pdf), cache=True)["messages"][0]["content"]
    ]
    assert kinds == ["text", "cachePoint", "document"]


def test_an_earlier_point_is_kept_as_long_as_a_later_one() -> None:
    made = body(asked("a", CacheBreak(ttl="1h"), "b"), instructions="i", cache="5m")
    times = [block["cachePoint"]["ttl"] for block in made["system"] if "cachePoint" in block]
    assert times == ["1h"]
    content = made["messages"][0]["content"]
    assert [b["cachePoint"]["ttl"] for b in content if "cachePoint" in b] == ["1h", "5m"]


def test_nova_takes_points_behind_texts_only() -> None:
    made = body(asked("hi"), tools=(LOOK,), instructions="i", cache=True, model=NOVA)
    assert points(made) == ["system", "message 0"]
    image = ImageContent(media_type="image/png", data=DATA)
    assert points(body(asked("hi", image, CacheBreak()), model=NOVA)) == []


@pytest.mark.parametrize("model", [NOVA, "anthropic.claude-3-7-sonnet-20250219-v1:0"])
def test_an_hour_is_refused_where_it_is_not_possible(model: str) -> None:
    with pytest.raises(UsageError, match="keeps its cache for 5m"):
        body(asked("hi"), model=model, cache="1h")
    with pytest.raises(UsageError, match="keeps its cache for 5m"):
        body(asked("hi", CacheBreak(ttl="1h"), "there"), model=model)
    assert body(asked("hi"), model=model, cache="5m")


def test_models_without_a_cache_get_no_points() -> None:
    break_ = asked("a", CacheBreak(), "b")
    assert points(body(break_, model="meta.llama3-8b-instruct-v1:0", cache=True)) == []


@pytest.mark.parametrize(
    ("model", "family"),
    [
        (CLAUDE, "claude"),
        ("eu.amazon.nova-pro-v1:0", "nova"),
        ("openai.gpt-oss-120b-1:0", "gpt"),
        ("gpt-4.1", "gpt"),
        ("llama3.2:1b", "llama"),
        ("anthropic/claude-3.5-haiku", "claude"),
    ],
)
def test_the_family_of_a_model(model: str, family: str) -> None:
    assert parse_family(model) == family
