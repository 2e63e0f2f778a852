"""The rules by which the AI SDK's and AG-UI's clients read a stream, as checkers.

They are written from the clients (`ai` 7.0.169, `@ag-ui/client` 1.0.0), which throw at anything
else. `tests/clients` checks the same streams with the clients themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from headrace.events import Record
from headrace.projections.registry import FOREIGN_PROTOCOLS

Chunk = dict[str, Any]
DONE = "[DONE]"


def payloads(
    records: Iterable[Record], protocol: str, *, is_over: bool = True, **options: Any
) -> list[Any]:
    """The payloads of a projection; `[DONE]` is a text."""
    package = FOREIGN_PROTOCOLS[protocol].load()
    projection = package.create_projection("msg_1", None, **options)
    frames = [frame for record in records for frame in projection.feed(record)]
    frames += projection.close() if is_over else []
    sent = [package.encode_frame(frame) for frame in frames]
    return [DONE if data == b"[DONE]" else msgspec.json.decode(data) for data in sent]


def stretches(chunks: Sequence[Any]) -> list[list[Chunk]]:
    """The streams that a projection has sent one after the other, without `[DONE]`."""
    found: list[list[Chunk]] = [[]]
    for chunk in chunks:
        if chunk == DONE:
            found.append([])
        else:
            found[-1].append(chunk)
    return [stream for stream in found if stream]


class UIMessageReader:
    """Builds the parts of a message from chunks, as the AI SDK's client does."""

    def __init__(self) -> None:
        self.parts: list[Chunk] = []
        self.metadata: Chunk = {}
        self.message_id: str | None = None
        self.is_step_open = False
        self.error: str | None = None
        self._texts: dict[str, Chunk] = {}
        self._thoughts: dict[str, Chunk] = {}
        self._inputs: set[str] = set()

    def read(self, stream: Sequence[Chunk]) -> None:
        """Read one stream, which must be legal."""
        assert stream[0]["type"] == "start"
        for chunk in stream:
            assert self.error is None or chunk["type"] == "finish"
            self._read(chunk)

    def check_end(self, stream: Sequence[Chunk]) -> None:
        assert stream[-1]["type"] in ("finish", "abort")
        assert not self._texts
        assert not self._thoughts
        assert not self.is_step_open
        assert not any(chunk["type"] in ("finish", "abort") for chunk in stream[:-1])

    def _read(self, chunk: Chunk) -> None:  # noqa: C901, PLR0912 (one case for each type)
        kind = chunk["type"]
        match kind:
            case "start":
                assert self.message_id in (None, chunk["messageId"])
                self.message_id = chunk["messageId"]
                self.metadata |= chunk.get("messageMetadata", {})
            case "start-step":
                assert not self.is_step_open
                self.is_step_open = True
                self.parts.append({"type": "step-start"})
            case "finish-step":
                assert self.is_step_open
                self.is_step_open = False
            case "reset-step":
                self._reset()
            case "text-start" | "reasoning-start":
                open_parts = self._texts if kind == "text-start" else self._thoughts
                assert chunk["id"] not in open_parts
                part = {"type": kind.partition("-")[0], "text": ""}
                open_parts[chunk["id"]] = part
                self.parts.append(part)
            case "text-delta":
                assert chunk["delta"]
                self._texts[chunk["id"]]["text"] += chunk["delta"]
            case "reasoning-delta":
                assert chunk["delta"]
                self._thoughts[chunk["id"]]["text"] += chunk["delta"]
            case "text-end":
                self._texts.pop(chunk["id"])
            case "reasoning-end":
                part = self._thoughts.pop(chunk["id"])
                part["providerMetadata"] = chunk.get("providerMetadata")
            case "finish" | "message-metadata":
                self.metadata |= chunk.get("messageMetadata", {})
            case "error":
                self.error = chunk["errorText"]
            case "source-url" | "source-document" | "file" | "custom":
                self.parts.append(chunk)
            case "abort":
                pass
            case _ if kind.startswith("data-"):
                if not chunk.get("transient"):
                    self.parts.append(chunk)
            case _:
                self._read_tool(chunk)

    def _reset(self) -> None:
        while self.parts and self.parts[-1]["type"] != "step-start":
            self.parts.pop()
        self._texts, self._thoughts, self._inputs = {}, {}, set()

    def _read_tool(self, chunk: Chunk) -> None:
        match chunk["type"]:
            case "tool-input-start":
                self._inputs.add(chunk["toolCallId"])
                self._change(chunk, "input-streaming")
            case "tool-input-delta":
                assert chunk["toolCallId"] in self._inputs
                part = self.tool(chunk["toolCallId"])
                part["raw"] = part.get("raw", "") + chunk["inputTextDelta"]
            case "tool-input-available":
                self._change(chunk, "input-available")["input"] = chunk["input"]
            case "tool-input-error":
                self._change(chunk, "output-error")["errorText"] = chunk["errorText"]
            case "tool-approval-request":
                part = self.tool(chunk["toolCallId"])
                part |= {"state": "approval-requested", "approval": {"id": chunk["approvalId"]}}
            case "tool-approval-response":
                (part,) = (
                    part
                    for part in self.parts
                    if part.get("approval", {}).get("id") == chunk["approvalId"]
                )
                part["state"] = "approval-responded"
                part["approval"]["approved"] = chunk["approved"]
            case "tool-output-available":
                part = self.tool(chunk["toolCallId"])
                part |= {"state": "output-available", "output": chunk["output"]}
                part["preliminary"] = chunk.get("preliminary", False)
            case "tool-output-error":
                part = self.tool(chunk["toolCallId"])
                part |= {"state": "output-error", "errorText": chunk["errorText"]}
            case "tool-output-denied":
                self.tool(chunk["toolCallId"])["state"] = "output-denied"
            case kind:
                raise AssertionError(f"no chunk {kind}")

    def _change(self, chunk: Chunk, state: str) -> Chunk:
        known = [p for p in self.parts if p.get("toolCallId") == chunk["toolCallId"]]
        if not known:
            self.parts.append({"type": "tool", "toolCallId": chunk["toolCallId"]})
        part = self.tool(chunk["toolCallId"])
        part |= {"state": state, "name": chunk["toolName"]}
        return part

    def tool(self, call_id: str) -> Chunk:
        (part,) = (part for part in self.parts if part.get("toolCallId") == call_id)
        return part


def read_ui_message(chunks: Sequence[Any], *, is_over: bool = True) -> UIMessageReader:
    """Read all streams of a message, each of which must be legal."""
    reader = UIMessageReader()
    found = stretches(chunks)
    for number, stream in enumerate(found, 1):
        reader.read(stream)
        if is_over or number < len(found):
            reader.check_end(stream)
    return reader


def check_ag_ui(events: Sequence[Chunk], *, is_over: bool = True) -> None:
    """Check the order of AG-UI events as `verifyEvents` does."""
    state = _AGUIState()
    for event in events:
        assert None not in event.values()
        state.feed(event)
    assert state.is_finished or not is_over


class _AGUIState:
    def __init__(self) -> None:
        self.is_finished = True
        self.has_error = False
        self._begin()

    def _begin(self) -> None:
        self.open: dict[str, set[Any]] = {
            "text": set(), "span": set(), "reasoning": set(), "call": set(), "step": set(),
            "subagent": set(),
        }  # fmt: skip
        self.closed_subagents: set[str | None] = set()
        self.owners: dict[tuple[str, str], Any] = {}

    def feed(self, event: Chunk) -> None:
        kind, tag = event["type"], event.get("subagentRunId")
        assert self.is_finished == (kind == "RUN_STARTED"), kind
        if kind == "RUN_STARTED":
            self._begin()
            self.is_finished = False
        elif kind == "RUN_FINISHED":
            assert not any(self.open.values()), self.open
            self.is_finished = True
        elif kind == "RUN_ERROR":
            self.is_finished = True
        elif kind.startswith("STEP_"):
            self._move("step", (tag, event["stepName"]), kind == "STEP_STARTED", kind)
        elif kind in _MOVES:
            name, field, is_start = _MOVES[kind]
            id = event[field]
            if is_start:
                assert self.owners.setdefault((name, id), tag) == tag
            assert self.owners[name, id] == tag
            self._move(name, id, is_start, kind)
        elif kind == "SUBAGENT_STARTED":
            assert tag not in self.closed_subagents
            parent = event.get("parentSubagentRunId")
            assert parent is None or parent in self.open["subagent"] | self.closed_subagents
            self._move("subagent", tag, True, kind)
        elif kind in ("SUBAGENT_FINISHED", "SUBAGENT_ERROR"):
            self._move("subagent", tag, False, kind)
            self.closed_subagents.add(tag)
        else:
            assert kind in _OTHERS, kind

    def _move(self, name: str, id: Any, is_start: bool | None, kind: str) -> None:
        """Open, close or (None) use something."""
        if is_start:
            assert id not in self.open[name], kind
            self.open[name].add(id)
        else:
            assert id in self.open[name], kind
            if is_start is False:
                self.open[name].remove(id)


_MOVES: dict[str, tuple[str, str, bool | None]] = {
    "TEXT_MESSAGE_START": ("text", "messageId", True),
    "TEXT_MESSAGE_CONTENT": ("text", "messageId", None),
    "TEXT_MESSAGE_END": ("text", "messageId", False),
    "REASONING_START": ("span", "messageId", True),
    "REASONING_END": ("span", "messageId", False),
    "REASONING_MESSAGE_START": ("reasoning", "messageId", True),
    "REASONING_MESSAGE_CONTENT": ("reasoning", "messageId", None),
    "REASONING_MESSAGE_END": ("reasoning", "messageId", False),
    "TOOL_CALL_START": ("call", "toolCallId", True),
    "TOOL_CALL_ARGS": ("call", "toolCallId", None),
    "TOOL_CALL_END": ("call", "toolCallId", False),
}
_OTHERS = ("TOOL_CALL_RESULT", "ACTIVITY_SNAPSHOT", "REASONING_ENCRYPTED_VALUE", "CUSTOM")
