"""Every request that we build is one that the provider's own published types take.

The bodies come from recorded streams: stream → fold → request. One module, since the
packages with the types are slow to load.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, get_args

import msgspec
import pytest
from google.protobuf import json_format
from xai_sdk.chat import BaseChat, Response
from xai_sdk.proto import chat_pb2

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.encoders import Effort, Request, ToolSpec, parse_options
from headrace.errors import UsageError
from headrace.events import Record, ToolResult, TurnEvent
from headrace.messages import (
    AssistantEntry,
    CallPart,
    CallResult,
    Message,
    Part,
    ReasoningPart,
    RedactedPart,
    Turn,
    fold,
)
from headrace.messages import history as entries_of
from headrace.outcome import TOOL_USE
from headrace.providers import CATALOG, Provider
from headrace.turn.model import encode_body
from tests import xai
from tests.corpus import recorded
from tests.published import accepts
from tests.unit.encoders.answers import assert_every_call_is_answered, assert_no_reasoning_alone
from tests.wire import events_of

APIS = {
    "openai-chat": "chat",
    "anthropic": "anthropic",
    "openai-responses": "responses",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock-converse": "bedrock",
    "cohere-v2": "cohere",
    "gemini-interactions": "interactions",
}
# A provider and a model of each dialect: the provider for rows whose own is not in the
# catalog, both for replies that go elsewhere.
ELSEWHERE = {
    "chat": ("compatible", "other-1"),
    "anthropic": ("anthropic", "claude-opus-4-6"),
    "responses": ("openai", "gpt-5"),
    "gemini": ("gemini", "gemini-3-pro"),
    "ollama": ("ollama", "qwen3"),
    "xai": ("xai-grpc", "grok-4"),
    "bedrock": ("bedrock", "us.anthropic.claude-opus-4-6-v1"),
    "cohere": ("cohere", "command-a-reasoning-08-2025"),
    "interactions": ("gemini-interactions", "gemini-3-flash-preview"),
}
REPLAYED = {"reasoning", "tool_calls", "server_tools", "redacted", "signature"}
_WEAVE = "streams/openai/weave__openai-openai_test-"
# Recorded streams whose replay the types rightly refuse, with the reason.
NOT_REPLAYABLE = {
    "streams/xai/ai__xai-responses-xai-web-search-tool.1.jsonl": (
        "a search in a shape that xAI has left since: arguments instead of an action"
    ),
    "streams/google/codecompanion.nvim__http-stubs-gemini_tools_thought_streaming.sse": (
        "whoever recorded it cut the signature short"
    ),
    f"{_WEAVE}test_openai_responses_tool_calling_async_stream.sse": (
        "of a time when a search had no action"
    ),
}
ROWS = [
    row
    for row in recorded.rows(*APIS)
    if REPLAYED & set(row["features"]) and row["file"] not in NOT_REPLAYABLE
]
STREAMS_CUT = 12


def _to_cut() -> list[dict[str, Any]]:
    """Some streams of each dialect, those with reasoning and calls first."""
    chosen: list[dict[str, Any]] = []
    for api in APIS:
        of_api = [row for row in ROWS if row["api"] == api and row["n_events"] < 700]
        of_api.sort(key=lambda row: -len(REPLAYED & set(row["features"])))
        chosen += of_api[:STREAMS_CUT]
    return chosen


def _named(rows: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("row", rows, ids=[row["file"][8:] for row in rows])


shared = pytest.mark.shared(recorded.MANIFEST)
each_stream = _named(ROWS)
each_stream_to_cut = _named(_to_cut())
ASKED = Message(role="user", content=(TextContent("Go on."),))
TOOL = ToolSpec(name="look", description="Looks.", parameters={"type": "object", "properties": {}})


# --- from a stream to a body ------------------------------------------------------


def provider_of(row: dict[str, Any]) -> Provider:
    dialect = APIS[row["api"]]
    for name in (row["provider"], f"{row['provider']}-chat"):
        found = CATALOG.get(name)
        # The types are those of a provider's own API, and not of its clouds.
        if found is not None and found.dialect == dialect and not found.unsent_fields:
            return found
    return CATALOG[ELSEWHERE[dialect][0]]


@cache
def decoded(file: str) -> list[TurnEvent]:
    row = next(row for row in ROWS if row["file"] == file)
    return events_of(
        recorded.read(row),
        framing=recorded.FRAMINGS[row["framing"]],
        provider=provider_of(row).name,
    )


def message_of(events: list[TurnEvent], *, is_answered: bool = True) -> Message:
    """The turn as a message, with a result for every call of ours if wanted."""
    records = [Record(seq, seq, event) for seq, event in enumerate(events, 1)]
    message = fold(records)
    calls = [call for call in message.calls if call.is_runnable] if is_answered else []
    content = (TextContent("It is done."),)
    results = [ToolResult(call_id=call.call_id, kind="tool", content=content) for call in calls]
    more = [Record(len(records) + n, 0, result) for n, result in enumerate(results, 1)]
    return fold([*records, *more])


def body_of(provider: Provider, model: str, message: Message) -> bytes:
    request = Request(
        model=model,
        provider=provider.name,
        messages=(ASKED, message, ASKED),
        tools=(TOOL,),
        instructions="Be brief.",
    )
    return msgspec.json.encode(encode_body(provider, request))


def model_of(message: Message) -> str:
    return next((turn.model for turn in message.turns if turn.model), "a-model")


def replayed_parts(message: Message) -> Iterator[Part]:
    for entry in entries_of([message]):
        if isinstance(entry, AssistantEntry):
            yield from entry.parts


# --- what must be in a body -------------------------------------------------------


def seals_in(message: Message) -> list[str]:
    """The seals that go back: of each part the last, in the order of the items. Reasoning
    that nothing follows stays here."""
    parts = list(replayed_parts(message))
    while parts and isinstance(parts[-1], ReasoningPart | RedactedPart):
        parts.pop()
    found: dict[int, list[str]] = {}
    for part in parts:
        seals = [part.data] if isinstance(part, RedactedPart) else [s.value for s in part.seals]
        if seals:
            found.setdefault(part.item, []).append(seals[-1])
    return [seal for seals in found.values() for seal in seals]


def assert_in_order(pieces: list[bytes], body: bytes) -> None:
    at = 0
    for piece in pieces:
        found = body.find(piece, at)
        assert found >= 0, f"{piece[:80]!r} is not in the body, or not in its place"
        at = found + len(piece)


def calls_in(message: Message) -> list[CallPart]:
    parts = replayed_parts(message)
    return [part for part in parts if isinstance(part, CallPart) and part.executor == "client"]


def written(call: CallPart, dialect: str) -> bytes:
    """The arguments as they must stand in the body: byte for byte, as a text or as JSON."""
    raw = call.raw if call.raw.strip() else "{}"
    kind = (call.provider_data or {}).get("type", "function_call")
    is_text = dialect in ("chat", "xai", "cohere") or (
        dialect == "responses" and kind == "function_call"
    )
    if call.input == "text" or is_text:
        return msgspec.json.encode(raw)
    return raw.encode()


@shared
@each_stream
def test_the_published_types_take_what_goes_back(row: dict[str, Any]) -> None:
    provider = provider_of(row)
    message = message_of(decoded(row["file"]))
    body = body_of(provider, model_of(message), message)
    accepts(provider.dialect, msgspec.json.decode(body))
    assert_every_call_is_answered(provider.dialect, msgspec.json.decode(body))


@shared
@each_stream
def test_arguments_go_back_as_the_model_wrote_them(row: dict[str, Any]) -> None:
    provider = provider_of(row)
    message = message_of(decoded(row["file"]))
    body = body_of(provider, model_of(message), message)
    calls = [call for call in calls_in(message) if call.error is None]
    assert_in_order([written(call, provider.dialect) for call in calls], body)


@shared
@each_stream
def test_seals_go_back_byte_for_byte_and_in_order(row: dict[str, Any]) -> None:
    provider = provider_of(row)
    message = message_of(decoded(row["file"]))
    seals = seals_in(message)
    if provider.dialect == "chat" and provider.request_quirks.replays != "reasoning_details":
        return
    body = body_of(provider, model_of(message), message)
    assert_in_order([msgspec.json.encode(seal) for seal in seals], body)


@shared
@each_stream
def test_another_dialect_takes_it_without_the_seals(row: dict[str, Any]) -> None:
    own = provider_of(row).dialect
    message = message_of(decoded(row["file"]))
    for dialect, (name, model) in ELSEWHERE.items():
        if dialect == own:
            continue
        body = body_of(CATALOG[name], model, message)
        accepts(dialect, msgspec.json.decode(body))
        assert_every_call_is_answered(dialect, msgspec.json.decode(body))
        assert_foreign(body, message)


@shared
@each_stream
def test_another_model_family_takes_it_without_the_seals(row: dict[str, Any]) -> None:
    provider = provider_of(row)
    message = message_of(decoded(row["file"]))
    if not any(turn.model for turn in message.turns):
        return
    body = body_of(provider, "unheard-of-1", message)
    accepts(provider.dialect, msgspec.json.decode(body))
    assert_foreign(body, message)


def assert_foreign(body: bytes, message: Message) -> None:
    for seal in seals_in(message):
        assert msgspec.json.encode(seal) not in body
    for call in calls_in(message):
        assert msgspec.json.encode(call.name or "unknown") in body


# --- the cut ----------------------------------------------------------------------


@shared
@each_stream_to_cut
def test_an_abort_after_any_event_leaves_a_body_that_is_taken(row: dict[str, Any]) -> None:
    """Somebody stops the turn: its events end where they are, with parts open."""
    events = decoded(row["file"])
    messages = (message_of(events[:n], is_answered=False) for n in range(1, len(events)))
    assert_all_taken(row, messages)


@shared
@each_stream_to_cut
def test_a_cut_after_any_frame_leaves_a_body_that_is_taken(row: dict[str, Any]) -> None:
    """The line breaks: the decoder closes what is open and says so."""
    data = recorded.read(row)
    end = b"\n\n" if row["framing"] == "sse" and b"\n\n" in data else b"\n"
    pieces = data.split(end)[:-1]
    prefixes = (end.join(pieces[:n]) + end for n in range(1, len(pieces)))
    options = {
        "framing": recorded.FRAMINGS[row["framing"]],
        "provider": provider_of(row).name,
        "dialect": APIS[row["api"]],
    }
    assert_all_taken(row, (message_of(events_of(prefix, **options)) for prefix in prefixes))


def assert_all_taken(row: dict[str, Any], messages: Iterator[Message]) -> None:
    provider, seen = provider_of(row), set[bytes]()
    for message in messages:
        body = body_of(provider, model_of(message), message)
        if body in seen:
            continue
        seen.add(body)
        decoded_body = msgspec.json.decode(body)
        accepts(provider.dialect, decoded_body)
        assert_every_call_is_answered(provider.dialect, decoded_body)
        assert_no_reasoning_alone(provider.dialect, decoded_body)
        assert_nothing_partial(message, body)


def assert_nothing_partial(message: Message, body: bytes) -> None:
    """Reasoning that was cut without a seal is nowhere in the body."""
    turn = message.turns[-1] if message.turns else None
    if turn is None or turn.finish is not None:
        return
    for part in turn.parts:
        if isinstance(part, ReasoningPart) and not part.seals and len(part.text) > 40:
            assert msgspec.json.encode(part.text)[1:-1] not in body


# --- xAI, of which nobody has a recording -----------------------------------------


def _agent() -> list[Any]:
    """An agent that thinks, searches, runs code and then wants something from us."""
    seal = {"encrypted_content": "sealed result"}
    ran = xai.call("c-2", '{"code": "1"}', type="CODE_EXECUTION", name="code", status="FAILED")
    searched = xai.call("c-1", '{"q": 1}', type="WEB_SEARCH", status="COMPLETED")
    ours = xai.call("c-3", '{"a":  1}', type="CLIENT_SIDE", name="look")
    open_calls = [xai.call("c-1", '{"q": 1}', type="WEB_SEARCH"), ran]
    return [
        xai.chunk(xai.output(0, reasoning_content="Let me see what there is, thinks the model.")),
        xai.chunk(xai.output(0, tool_calls=open_calls[:1])),
        xai.chunk(xai.output(0, tool_calls=open_calls[1:], encrypted_content="sealed 0")),
        xai.chunk(xai.output(0, "REASON_TOOL_CALLS")),
        xai.chunk(xai.output(1, role="ROLE_TOOL", content="found", tool_calls=[searched], **seal)),
        xai.chunk(xai.output(2, role="ROLE_TOOL", tool_calls=[ran])),
        xai.chunk(xai.output(3, reasoning_content="Now I know, and I think a little more of it.")),
        xai.chunk(xai.output(3, content="It is ")),
        xai.chunk(xai.output(3, content="so.", tool_calls=[ours])),
        xai.chunk(xai.output(3, "REASON_TOOL_CALLS", encrypted_content="sealed 3")),
    ]


XAI_STREAMS = {"agent": _agent(), "trace": xai.seed_trace()}
each_xai_stream = pytest.mark.parametrize("name", XAI_STREAMS)


def _xai_events(chunks: list[Any]) -> list[TurnEvent]:
    return events_of(xai.as_grpc(chunks), framing="grpc", provider="xai-grpc")


@each_xai_stream
def test_xais_own_client_sends_the_same_messages_back(name: str) -> None:
    """Message by message what `Chat.append` makes of the whole response."""
    response = Response(chat_pb2.GetChatCompletionResponse(), None)
    for chunk in XAI_STREAMS[name]:
        response.process_chunk(chunk)
    response._sync_buffers_to_proto()
    chat = BaseChat.__new__(BaseChat)
    chat._proto = chat_pb2.GetCompletionsRequest()
    chat.append(response)
    message = message_of(_xai_events(XAI_STREAMS[name]), is_answered=False)
    body = msgspec.json.decode(body_of(CATALOG["xai-grpc"], "grok-4", message))
    sent = json_format.ParseDict(body, chat_pb2.GetCompletionsRequest())
    # The system and the user before it; our results and the user after it.
    ours = list(sent.messages)[2 : 2 + len(chat._proto.messages)]
    assert [_comparable(m) for m in ours] == [_comparable(m) for m in chat._proto.messages]


def _comparable(message: Any) -> Any:
    """Theirs has fields that are there and empty, and of a call each entry that came."""
    told = json_format.MessageToDict(message)
    calls = {call["id"]: call for call in told.pop("toolCalls", [])}
    if message.role == chat_pb2.ROLE_ASSISTANT:
        for call in calls.values():
            call.pop("status", None)
    return {name: value for name, value in told.items() if value}, calls


@each_xai_stream
def test_what_goes_back_to_xai_is_taken_after_a_cut_anywhere(name: str) -> None:
    chunks = XAI_STREAMS[name]
    events = _xai_events(chunks)
    messages = [message_of(events[:n], is_answered=False) for n in range(1, len(events) + 1)]
    messages += [message_of(_xai_events(chunks[:n])) for n in range(len(chunks) + 1)]
    seen = set[bytes]()
    for message in messages:
        for dialect, (provider, model) in ELSEWHERE.items():
            body = body_of(CATALOG[provider], model, message)
            if body in seen:
                continue
            seen.add(body)
            accepts(dialect, msgspec.json.decode(body))
            assert_every_call_is_answered(dialect, msgspec.json.decode(body))
            assert_nothing_partial(message, body)
            if dialect != "xai":
                assert b"sealed" not in body
    assert len(seen) > 20


def test_seals_go_back_to_the_family_that_made_them_and_to_no_other() -> None:
    message = message_of(_xai_events(XAI_STREAMS["agent"]))
    seals = [b'"sealed 0"', b'"sealed result"', b'"sealed 3"']
    provider = CATALOG["xai-grpc"]
    assert_in_order(seals, body_of(provider, "grok-4-fast", message))
    other = body_of(provider, "unheard-of-1", message)
    accepts("xai", msgspec.json.decode(other))
    assert not any(seal in other for seal in seals)
    assert rb"{\"a\":  1}" in other


# --- what nobody has recorded -----------------------------------------------------

PNG = ImageContent(media_type="image/png", data="AAAA")
PDF = FileContent(media_type="application/pdf", name="a.pdf", data="AAAA")
NOTES = FileContent(media_type="text/plain", name="a.txt", data="aGVsbG8=")
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
MODELS = [
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-4-7"),
    ("anthropic", "claude-opus-5"),
    ("gemini", "gemini-2.5-pro"),
    ("gemini", "gemini-3-pro"),
    ("openai", "gpt-5"),
    ("ollama", "qwen3"),
    ("xai-grpc", "grok-4"),
    ("bedrock", "us.anthropic.claude-opus-4-6-v1"),
    ("cohere", "command-a-reasoning-08-2025"),
    ("bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0"),
    *((row.name, "m") for row in CATALOG.values() if row.dialect == "chat"),
]
each_model = pytest.mark.parametrize(("name", "model"), MODELS)


def _calls(*content: Content) -> Message:
    """A reply of nobody we know, with a call and its result, and one that failed."""
    numbers: Any = {"output": 0, "started_ms": 0, "ended_ms": 1}
    parts = [
        CallPart(
            part=n, item=n, call_id=f"f.look:{n}", name="look", raw=raw, error=error, **numbers
        )
        for n, (raw, error) in enumerate([('{"a": 1}', None), ("{", "cut"), ("", None)])
    ]
    results = (
        CallResult(call_id="f.look:0", content=content),
        CallResult(call_id="f.look:2", content=(TextContent("no"),), is_error=True),
    )
    turn = Turn(parts=tuple(parts), results=results, finish=TOOL_USE, dialect="other")
    return Message(role="assistant", turns=(turn,))


@each_model
def test_all_kinds_of_content_are_taken(name: str, model: str) -> None:
    provider = CATALOG[name]
    media: tuple[Content, ...] = (PNG, NOTES) if name in ("ollama", "cohere") else (PNG, PDF, NOTES)
    said = (TextContent("see"), JSONContent({"a": [1]}))
    request = Request(
        model=model,
        messages=(
            Message(role="developer", content=said),
            Message(role="user", content=(*said, *media)),
            _calls(*said, PNG, NOTES),
            ASKED,
        ),
    )
    body = msgspec.json.decode(msgspec.json.encode(encode_body(provider, request)))
    accepts(provider.dialect, body)
    assert_every_call_is_answered(provider.dialect, body)


OPTIONS: list[dict[str, Any]] = [
    *({"effort": effort} for effort in get_args(Effort)),
    *({"tool_choice": choice} for choice in ("auto", "none", "required", "look")),
    {"parallel_calls": False},
    {"parallel_calls": True, "tool_choice": "look"},
    {"max_tokens": 5_000, "temperature": 0.5, "top_p": 0.9},
    {"stop": ["x", "y"]},
    {"seed": 7},
    {"output": {"schema": SCHEMA}},
    {"output": {"schema": SCHEMA, "name": "sum"}, "effort": "high", "max_tokens": 3_000},
]


@each_model
def test_every_option_is_taken_or_refused_by_us(name: str, model: str) -> None:
    strict = ToolSpec(name="look", description="Looks.", parameters=SCHEMA, is_strict=True)
    taken = 0
    for given in OPTIONS:
        request = Request(
            model=model, messages=(ASKED,), tools=(strict,), options=parse_options(given)
        )
        with suppress(UsageError):
            accepts(CATALOG[name].dialect, encode_body(CATALOG[name], request))
            taken += 1
    # Writer has neither efforts nor seeds nor a choice of parallel calls.
    assert taken >= len(OPTIONS) - (11 if name == "writer" else 8)
