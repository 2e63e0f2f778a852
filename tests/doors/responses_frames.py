"""The order of frames in a stream of the Responses protocol, as a table of what may follow."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.projections.openai_responses import ResponsesFrame, encode_frame, frame_type

ENDS = ("response.completed", "response.incomplete", "response.failed")
_STATUSES = {
    "response.completed": ("completed",),
    "response.incomplete": ("incomplete", "cancelled"),
    "response.failed": ("failed",),
}
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "text",
    "response.reasoning.delta": "text",
    "response.reasoning_summary_text.delta": "text",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.mcp_call_arguments.delta": "arguments",
    "response.code_interpreter_call_code.delta": "code",
}


def decode_frames(frames: list[ResponsesFrame]) -> list[dict[str, Any]]:
    """Frames as clients read them."""
    payloads = [msgspec.json.decode(encode_frame(frame)) for frame in frames]
    assert [payload["type"] for payload in payloads] == list(map(frame_type, frames))
    return payloads


def check_stream(payloads: list[dict[str, Any]], *, has_gaps: bool = False) -> None:
    """Assert that a whole stream is legal. With `has_gaps`, the whole text of a part may differ
    from its deltas."""
    assert [one["sequence_number"] for one in payloads] == list(range(len(payloads)))
    kinds = [one["type"] for one in payloads]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] in ENDS
    assert not set(kinds[2:-1]) & {*ENDS, *kinds[:2]}
    assert payloads[-1]["response"]["status"] in _STATUSES[kinds[-1]]
    done = _check_items(payloads[2:-1], has_gaps=has_gaps)
    final = payloads[-1]["response"]["output"]
    assert [item["id"] for item in final] == [done[index]["id"] for index in range(len(done))]
    assert len({item["id"] for item in final if "id" in item}) == len(final)


def _check_items(payloads: list[dict[str, Any]], *, has_gaps: bool) -> dict[int, dict[str, Any]]:
    """Return the finished items by their number."""
    added: dict[int, dict[str, Any]] = {}
    done: dict[int, dict[str, Any]] = {}
    texts: dict[tuple[int, str, int], str] = {}
    open_parts: set[tuple[int, str, int]] = set()
    for one in payloads:
        index, kind = one["output_index"], one["type"]
        noun = kind.rpartition(".")[0]
        place = (index, noun, one.get("content_index", one.get("summary_index", 0)))
        if kind == "response.output_item.added":
            assert index == len(added)
            added[index] = one["item"]
            continue
        assert index in added
        assert index not in done
        if kind == "response.output_item.done":
            assert not any(part[0] == index for part in open_parts)
            assert one["item"]["type"] == added[index]["type"]
            assert one["item"].get("id") == added[index].get("id")
            done[index] = one["item"]
            continue
        assert one["item_id"] == added[index]["id"]
        if kind in _DELTAS:
            texts[place] = texts.get(place, "") + one["delta"]
            assert one["delta"]
        elif f"{noun}.delta" in _DELTAS:
            whole = one[_DELTAS[f"{noun}.delta"]]
            assert has_gaps or whole == texts.get(place, "")
        elif kind.endswith("part.added"):
            assert place not in open_parts
            open_parts.add(place)
        elif kind.endswith("part.done"):
            open_parts.remove(place)
    assert done.keys() == added.keys()
    return done
