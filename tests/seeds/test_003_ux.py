"""Seed 003, the event model and what the back end owes it, case by case.

Where our decisions settle what the document leaves open, the test says so:
- `message_started` is sent (an open question of the document);
- `sequence_number` is the place in the list of segments, text included, and a part's own is its
  place among all parts (the document's example counts events);
- `message_error` and `message_cancelled` carry the partial event;
- ids are ours, and the provider's stands in `provider_item_id`.

What the document asks of components, the store and `/api/chat` is tested with the server and
the pages.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.events import Record, Stamp
from headrace.messages import fold
from headrace.outcome import ErrorInfo, abort_reason
from headrace.projections.ux import UXProjection, encode_frame, fold_frames, to_event
from headrace.testing import ScriptedTransport, call, run_virtual, say, think, turn
from headrace.wire.decoder import Decoder
from tests.engine.play import Bench, agent_for, clock
from tests.phases.ux_order import check_ux
from tests.wire import chunk, sse

EXAMPLE: list[dict[str, Any]] = [
    {
        "id": "rs_68",
        "type": "reasoning",
        "parts": [
            {
                "text": "**Providing historical facts**\n\nI'm noting ...",
                "type": "summary_text",
                "created_at": 1756254831851,
                "is_complete": True,
                "summary_index": 0,
                "sequence_number": 3,
            }
        ],
        "streaming": False,
        "output_index": 0,
        "combined_text": "**Providing historical facts**\n\nI'm noting ...",
        "sequence_number": 2,
    },
    {"id": "msg_68", "text": "Ulysses S. Grant, serving from 1869 to 1877.", "type": "text"},
]
"""The final event of the document: keys, types and nesting; the ids are shortened."""
ADDED = {"duration_ms", "effort_level", "reasoning_tokens", "provider_item_id", "citations"}
"""What a segment may have beyond the example."""

FIELDS: dict[str, set[str]] = {
    "reasoning_part_started": {
        "event_id",
        "segment_id",
        "summary_index",
        "sequence_number",
        "created_at",
    },
    "reasoning_part_delta": {"event_id", "segment_id", "summary_index", "text_delta"},
    "reasoning_part_completed": {"event_id", "segment_id", "summary_index", "is_complete"},
    "reasoning_segment_meta": {"event_id", "segment_id"},
    "text_delta": {"event_id"},
    "tool_call_started": {
        "event_id",
        "call_id",
        "name",
        "args_preview",
        "sequence_number",
        "created_at",
    },
    "tool_call_update": {"event_id", "call_id", "status"},
    "tool_result": {"event_id", "call_id", "result"},
    "message_final": {"event"},
    "message_error": {"event_id", "message"},
    "message_cancelled": {"event_id"},
}
"""The fields that the document names for each event, but for those it calls optional."""
EXTENSIONS: dict[str, set[str]] = {
    "reasoning_part_started": {"part_type", "output_index"},
    "reasoning_part_completed": {"final_text"},
    "reasoning_segment_meta": {
        "effort_level",
        "reasoning_tokens",
        "duration_ms",
        "provider_item_id",
    },
    "text_delta": {"text_delta", "output_index"},
    "tool_call_started": {"segment_id", "executor", "output_index", "provider_item_id"},
    "tool_call_update": {
        "progress",
        "logs_delta",
        "args_delta",
        "args",
        "args_preview",
        "detail",
    },
    "tool_result": {"error", "kind", "duration_ms", "event"},
    "message_error": {"event"},
    "message_cancelled": {"event"},
}
"""What the document calls optional, and what is ours."""
NEW = {
    "nested_frame",
    "message_started",
    "status",
    "segment_added",
    "citation_added",
    "part_restored",
    "step_discarded",
    "input_requested",
    "input_answered",
    "message_waiting",
    "user_message_added",
}
"""Events that the document does not have."""


def shown(records: list[Record]) -> list[dict[str, Any]]:
    """The payloads, with everything checked that must always be true."""
    projection = UXProjection("event_1")
    frames = [frame for record in records for frame in projection.feed(record)]
    frames += projection.close()
    check_ux(frames)
    assert fold_frames(frames) == to_event(fold(records), event_id="event_1")
    return [msgspec.json.decode(encode_frame(frame)) for frame in frames]


def types(payloads: list[dict[str, Any]]) -> list[str]:
    return [payload["type"] for payload in payloads]


def of(payloads: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [payload for payload in payloads if payload["type"] == kind]


def records_of(*payloads: Any, dialect: str, fails: bool = False) -> list[Record]:
    """The records of a turn, a payload a read."""
    decoder = Decoder(dialect)
    times = iter(range(1_756_254_831_000, 2**60, 100))
    stamp = Stamp(lambda: next(times))
    records = [
        record for one in payloads for record in stamp.feed(decoder.feed(sse(one, done=False)))
    ]
    end = decoder.fail(ErrorInfo("network", "gone")) if fails else decoder.close()
    return records + stamp.feed(end)


def responses(*events: dict[str, Any]) -> list[Record]:
    return records_of(*events, {"type": "response.completed", "response": {}}, dialect="responses")


def reasoning_item(*texts: str, place: int = 0) -> list[dict[str, Any]]:
    item = {"type": "reasoning", "id": f"rs_{place}", "summary": []}
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": place, "item": item}
    ]
    for index, text in enumerate(texts):
        at = {"output_index": place, "item_id": f"rs_{place}", "summary_index": index}
        half = len(text) // 2
        for piece in (text[:half], text[half:]):
            delta = {"type": "response.reasoning_summary_text.delta", "delta": piece}
            events.append({**delta, **at})
        part = {"type": "summary_text", "text": text}
        events.append({"type": "response.reasoning_summary_part.done", "part": part, **at})
    summary = [{"type": "summary_text", "text": text} for text in texts]
    whole = {**item, "summary": summary}
    done = {"type": "response.output_item.done", "output_index": place, "item": whole}
    return [*events, done]


def message_item(text: str, place: int = 1) -> list[dict[str, Any]]:
    item = {"type": "message", "id": f"msg_{place}", "role": "assistant", "content": []}
    at = {"output_index": place, "content_index": 0}
    return [
        {"type": "response.output_item.added", "output_index": place, "item": item},
        {"type": "response.output_text.delta", "delta": text, **at},
        {
            "type": "response.output_item.done",
            "output_index": place,
            "item": {**item, "content": [{"type": "output_text", "text": text}]},
        },
    ]


def agent_records(*turns: Any, dialect: str = "responses") -> list[Record]:
    """A whole run, saved."""

    async def main() -> list[Record]:
        agent = agent_for(dialect, ScriptedTransport(turns, dialect=dialect), Bench())
        async with agent.run("Go.", clock=clock()) as run:
            await run.wait()
        return run.records_so_far

    records = run_virtual(main())
    closed = ev.RunClosed("committed", "event_1")
    return [*records, Record(len(records) + 1, records[-1].at_ms, closed)]


GRANT = responses(
    *reasoning_item(EXAMPLE[0]["combined_text"]),
    *message_item(EXAMPLE[1]["text"]),
)
TOOL_RUN = agent_records(
    turn(think("Let me add."), call("add", a=1, b=2), call("slow", n=2)), turn(say("It is 3."))
)


# --- Event Model: the final event ------------------------------------------------------


def test_final_event_example_in_keys_types_and_nesting() -> None:
    segments = shown(GRANT)[-1]["event"]["segments"]
    for wanted, segment in zip(EXAMPLE, segments, strict=True):
        assert set(wanted) <= set(segment) <= set(wanted) | ADDED
        _same_shape(wanted, segment)
    assert segments[0]["combined_text"] == EXAMPLE[0]["combined_text"]
    assert segments[1]["text"] == EXAMPLE[1]["text"]
    assert segments[0]["provider_item_id"] == "rs_0"


def _same_shape(wanted: Any, found: Any) -> None:
    assert type(wanted) is type(found)
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            _same_shape(value, found[key])
    if isinstance(wanted, list):
        for one, other in zip(wanted, found, strict=True):
            assert set(one) == set(other)
            _same_shape(one, other)


def test_event_object_has_the_keys_that_were_decided() -> None:
    event = shown(GRANT)[-1]["event"]
    decided = {"id", "role", "run_id", "created_at", "segments", "usage", "finish"}
    assert set(event) == decided | {"duration_ms"}, "what is added is marked in docs/topics/ux.md"
    assert (event["id"], event["role"]) == ("event_1", "assistant")


# --- Event Model: fields of each event ---------------------------------------------------


@pytest.mark.parametrize(
    "records", [GRANT, TOOL_RUN, GRANT[:-3]], ids=["an answer", "a run", "a cut"]
)
def test_fields_are_the_documents_and_extensions_are_known(records: list[Record]) -> None:
    for payload in shown(records):
        kind = payload.pop("type")
        if kind in NEW:
            continue
        theirs = FIELDS[kind]
        assert theirs <= set(payload) <= theirs | EXTENSIONS.get(kind, set())


def test_reasoning_part_started_delta_completed() -> None:
    payloads = shown(GRANT)
    (started,) = of(payloads, "reasoning_part_started")
    deltas = of(payloads, "reasoning_part_delta")
    (completed,) = of(payloads, "reasoning_part_completed")
    assert started["summary_index"] == 0
    assert "".join(delta["text_delta"] for delta in deltas) == EXAMPLE[0]["combined_text"]
    assert completed["is_complete"] is True
    ids = {one["segment_id"] for one in (started, *deltas, completed)}
    assert ids == {payloads[-1]["event"]["segments"][0]["id"]}


def test_reasoning_segment_meta_before_the_final() -> None:
    kinds = types(shown(GRANT))
    assert kinds.index("reasoning_segment_meta") < kinds.index("message_final")


def test_tool_streaming_user_tools() -> None:
    payloads = shown(TOOL_RUN)
    started = of(payloads, "tool_call_started")
    assert [one["name"] for one in started] == ["add", "slow"]
    assert [one["sequence_number"] for one in started] == [1, 2]
    progress = [one["progress"] for one in of(payloads, "tool_call_update") if "progress" in one]
    assert progress == [0.0, 0.5]
    results = {one["call_id"]: one["result"] for one in of(payloads, "tool_result")}
    assert sorted(map(str, results.values())) == ["3", "slept"]


def test_args_preview_is_one_short_line_of_the_arguments() -> None:
    payloads = shown(TOOL_RUN)
    assert [one["args_preview"] for one in of(payloads, "tool_call_started")] == ["", ""]
    told = [one for one in of(payloads, "tool_call_update") if "args_preview" in one]
    assert [(one["status"], one["args_preview"]) for one in told] == [
        ("ready", "a: 1, b: 2"),
        ("ready", "n: 2"),
    ]


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [
        ("web_search_call", "web_search_call"),
        ("code_interpreter_call", "code_interpreter_call"),
        ("file_search_call", "file_search_call"),
        ("mcp_call", "mcp_call"),
        ("image_generation_call", "image_generation_call"),
    ],
)
def test_tool_streaming_built_ins_mirror_the_pattern(kind: str, prefix: str) -> None:
    item = {"type": kind, "id": "ws_1", "status": "in_progress", "name": "ask"}
    payloads = shown(
        responses(
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": f"response.{kind}.in_progress", "output_index": 0, "item_id": "ws_1"},
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {**item, "status": "completed"},
            },
        )
    )
    kinds = [one for one in types(payloads) if one.startswith(prefix)]
    assert kinds[0] == f"{prefix}_started"
    assert kinds[1] == f"{prefix}_update"
    assert kinds[-1] == f"{prefix}_result"
    assert payloads[-1]["event"]["segments"][0]["type"] == prefix


def test_an_approval_that_nobody_gives_is_requested_and_not_completed() -> None:
    item = {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "name": "delete_file",
        "server_label": "files",
        "arguments": '{"path":"a.txt"}',
    }
    payloads = shown(
        responses(
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
        )
    )
    assert types(payloads)[1] == "mcp_call_started"
    assert "mcp_call_result" not in types(payloads)
    assert of(payloads, "mcp_call_update")[-1]["status"] == "approval_requested"
    (segment,) = payloads[-1]["event"]["segments"]
    assert (segment["status"], segment["name"]) == ("approval_requested", "delete_file")
    assert segment["args"] == {"path": "a.txt"}


# --- Event Flow --------------------------------------------------------------------------


def test_event_flow_from_reasoning_over_tools_to_text_and_the_commit() -> None:
    payloads = shown(TOOL_RUN)
    kinds = types(payloads)
    assert kinds[0] == "message_started"
    first = [kinds.index(kind) for kind in (
        "reasoning_part_started", "reasoning_part_delta", "reasoning_part_completed",
        "tool_call_started", "tool_result", "text_delta", "message_final",
    )]  # fmt: skip
    assert first == sorted(first)
    assert kinds[-1] == "message_final"


def test_message_final_only_after_the_message_is_saved() -> None:
    unsaved = UXProjection("event_1")
    kinds = [type(frame).__name__ for record in TOOL_RUN[:-1] for frame in unsaved.feed(record)]
    assert not [kind for kind in kinds if kind.startswith(("MessageF", "MessageE", "MessageC"))]
    (final,) = unsaved.feed(TOOL_RUN[-1])
    assert type(final).__name__ == "MessageFinal"


def test_streamed_and_persisted_look_the_same() -> None:
    payloads = shown(TOOL_RUN)
    stored = to_event(fold(TOOL_RUN), event_id="event_1")
    assert payloads[-1]["event"] == msgspec.json.decode(msgspec.json.encode(stored))


# --- Back-end notes ------------------------------------------------------------------------


def test_segment_id_is_known_up_front_and_stable() -> None:
    payloads = shown(TOOL_RUN)
    told = [p["segment_id"] for p in payloads if p["type"].endswith(("_started", "_delta"))
            and "segment_id" in p]  # fmt: skip
    final = [one["id"] for one in payloads[-1]["event"]["segments"]]
    assert set(told) <= set(final)
    assert shown(TOOL_RUN) == payloads


def test_message_final_also_where_there_is_no_reasoning() -> None:
    payloads = shown(responses(*message_item("Hi.", place=0)))
    assert types(payloads) == ["message_started", "segment_added", "text_delta", "message_final"]


def test_an_empty_answer_gets_its_message_final() -> None:
    payloads = shown(responses())
    assert types(payloads) == ["message_started", "message_final"]
    assert payloads[-1]["event"]["segments"] == []


def test_a_single_block_of_reasoning_is_part_0() -> None:
    payloads = shown(
        records_of(
            chunk({"reasoning_content": "Hm."}),
            chunk({"content": "Yes."}),
            chunk({}, finish="stop"),
            b"data: [DONE]\n\n",
            dialect="chat",
        )
    )
    (segment, _) = payloads[-1]["event"]["segments"]
    assert [part["summary_index"] for part in segment["parts"]] == [0]


def test_summary_index_order_is_preserved() -> None:
    payloads = shown(responses(*reasoning_item("one", "two", "three")))
    (segment,) = payloads[-1]["event"]["segments"]
    assert [(p["summary_index"], p["text"]) for p in segment["parts"]] == [
        (0, "one"),
        (1, "two"),
        (2, "three"),
    ]


# --- Edge Cases ------------------------------------------------------------------------------


def test_no_reasoning_present_means_no_reasoning_segment() -> None:
    segments = shown(responses(*message_item("Hi.", place=0)))[-1]["event"]["segments"]
    assert [one["type"] for one in segments] == ["text"]


def test_multiple_reasoning_parts_stream_one_by_one_and_in_order() -> None:
    payloads = shown(responses(*reasoning_item("one", "two")))
    order = [(p["type"].rpartition("_")[2], p["summary_index"]) for p in payloads
             if p["type"].startswith("reasoning_part")]  # fmt: skip
    assert order == [
        ("started", 0), ("delta", 0), ("delta", 0), ("completed", 0),
        ("started", 1), ("delta", 1), ("delta", 1), ("completed", 1),
    ]  # fmt: skip


def test_sequence_number_orders_segments_live_and_final() -> None:
    payloads = shown(TOOL_RUN)
    live = {
        payload.get("segment_id") or payload["segment"]["id"]: payload["sequence_number"]
        for payload in payloads
        if "sequence_number" in payload
    }
    final = payloads[-1]["event"]["segments"]
    assert [live[segment["id"]] for segment in final] == [*range(len(final))]


def test_sequence_number_orders_segments_whose_frames_come_in_another_order() -> None:
    projection = UXProjection("event_1")
    frames = [frame for record in TOOL_RUN for frame in projection.feed(record)]
    calls = [frame for frame in frames if getattr(frame, "call_id", None)]
    others = [frame for frame in frames[1:-1] if not getattr(frame, "call_id", None)]
    assert calls
    assert fold_frames([frames[0], *calls, *others, frames[-1]]) == fold_frames(frames)


def test_error_keeps_what_came() -> None:
    half = chunk({"reasoning_content": "Half a thou"})
    payloads = shown(records_of(half, dialect="chat", fails=True))
    assert payloads[-1]["type"] == "message_error"
    assert payloads[-1]["message"] == "gone"
    (segment,) = payloads[-1]["event"]["segments"]
    assert segment["combined_text"] == "Half a thou"
    assert segment["parts"][0]["is_complete"] is False


def test_cancelation_keeps_what_came() -> None:
    cut = TOOL_RUN[: len(TOOL_RUN) // 2]
    end = ev.RunFinished(abort_reason("cancelled"))
    closed = ev.RunClosed("committed", "event_1")
    at_ms = cut[-1].at_ms
    payloads = shown([*cut, Record(len(cut) + 1, at_ms, end), Record(len(cut) + 2, at_ms, closed)])
    assert payloads[-1]["type"] == "message_cancelled"
    assert payloads[-1]["event"]["finish"] == {"word": "aborted", "kind": "cancelled"}
    assert payloads[-1]["event"]["segments"]


# --- Open Questions, as decided ------------------------------------------------------------


def test_message_started_is_sent() -> None:
    first = shown(TOOL_RUN)[0]
    assert set(first) == {"type", "event_id", "run_id", "created_at"}


def test_sequence_number_counts_interleaved_steps() -> None:
    segments = shown(TOOL_RUN)[-1]["event"]["segments"]
    assert [one["type"] for one in segments] == ["reasoning", "tool_call", "tool_call", "text"]
    assert [one.get("sequence_number") for one in segments] == [0, 1, 2, None]
