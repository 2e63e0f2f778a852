"""Writes OpenAI Responses: items that are added, grow and are done, and a snapshot at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headrace.rehearsal.script import (
    Approval,
    Call,
    Error,
    ProviderCall,
    Redacted,
    Say,
    ScriptedTurn,
    Think,
)
from headrace.rehearsal.wire.responses_tool import approval_events, provider_call_events
from headrace.rehearsal.wire.words import RESPONSES_REASONS, openai_error
from headrace.rehearsal.wire.writer import Occasion, in_turns, sse, usage_of

JSONObject = dict[str, Any]
_FINISHED = ("end_turn", "tool_use")


class ResponsesWriter:
    """Writes one turn as items. Consecutive thoughts are summaries of one item."""

    def __init__(self, turn: ScriptedTurn, occasion: Occasion) -> None:
        self._name = occasion.name
        self._model = occasion.model
        self._usage = usage_of(turn, occasion)
        self._number = -1
        self._calls = 0
        self._output: list[JSONObject] = []
        self._open: _Reasoning | _Message | None = None

    def begin(self) -> Iterator[bytes]:
        for kind in ("response.created", "response.in_progress"):
            yield self._event(kind, response=self._response("in_progress"))

    def think(self, line: Think) -> Iterator[bytes]:
        item = self._open
        if not (isinstance(item, _Reasoning) and item.takes(line)):
            yield from self._close()
            seal = None if line.signed is False else f"enc_{self._place()}"
            item = self._open = _Reasoning(self, self._place(), line, seal)
            yield item.added_event()
        yield from item.think(line)

    def redact(self, line: Redacted) -> Iterator[bytes]:
        yield from self._close()
        thought = Think(pieces=(), encrypted=True)
        self._open = item = _Reasoning(self, self._place(), thought, line.data)
        yield item.added_event()

    def say(self, line: Say) -> Iterator[bytes]:
        if not isinstance(self._open, _Message):
            yield from self._close()
            self._open = _Message(self, self._place())
            yield from self._open.added_event()
        yield from self._open.say(line)

    def call(self, lines: Sequence[Call]) -> Iterator[bytes]:
        yield from self._close()
        items: list[JSONObject] = []
        starts = len(self._output)
        queues: list[Sequence[_Event]] = []
        for offset, line in enumerate(lines):
            self._calls += 1
            item: JSONObject = {
                "id": f"fc_{self._place(offset)}",
                "type": "function_call",
                "status": "completed",
                "name": line.name,
                "call_id": line.call_id or f"call_{self._name}_{self._calls}",
                "arguments": line.raw,
            }
            items.append(item)
            queues.append(_call_events(line, item, starts + offset))
        self._output += items
        # Numbered when they are sent, since the order between items is only known then.
        for kind, fields in in_turns(queues):
            yield self._event(kind, **fields)

    def run(self, line: ProviderCall | Approval) -> Iterator[bytes]:
        yield from self._close()
        place, index = self._place(), len(self._output)
        if isinstance(line, Approval):
            item, events = approval_events(line, place, index)
        else:
            item, events = provider_call_events(line, place, index)
        self._output.append(item)
        for kind, fields in events:
            yield self._event(kind, **fields)

    def fail(self, line: Error) -> Iterable[bytes]:
        told = openai_error(line.category, line.message)
        yield self._event("error", code=told["code"], message=told["message"], param=None)

    def finish(self, word: str) -> Iterator[bytes]:
        yield from self._close()
        if word in _FINISHED:
            yield self._event("response.completed", response=self._response("completed"))
            return
        why = {"reason": RESPONSES_REASONS.get(word, word)}
        response = self._response("incomplete") | {"incomplete_details": why}
        yield self._event("response.incomplete", response=response)

    def end(self) -> Iterable[bytes]:
        return ()

    # -- items

    def _place(self, offset: int = 0) -> str:
        return f"{self._name}_{len(self._output) + offset}"

    def _close(self) -> Iterator[bytes]:
        item, self._open = self._open, None
        if item is not None:
            yield from item.done_events()
            self._output.append(item.item())

    def at(self, kind: str, item_id: str, **fields: Any) -> bytes:
        """Write an event of the open item."""
        return self._event(kind, item_id=item_id, output_index=len(self._output), **fields)

    def about(self, kind: str, item: JSONObject) -> bytes:
        """Write the event that adds or completes the open item."""
        kind = f"response.output_item.{kind}"
        return self._event(kind, output_index=len(self._output), item=item)

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return sse({"type": kind, "sequence_number": self._number, **fields}, is_named=True)

    def _response(self, status: str) -> JSONObject:
        is_over = status != "in_progress"
        return {
            "id": f"resp_{self._name}",
            "object": "response",
            "created_at": 0,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "model": self._model,
            "output": list(self._output) if is_over else [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": self._report() if is_over else None,
        }

    def _report(self) -> JSONObject:
        told = self._usage
        return {
            "input_tokens": told.input_tokens,
            "input_tokens_details": {
                "cached_tokens": told.cached_input_tokens,
                "cache_write_tokens": 0,
            },
            "output_tokens": told.output_tokens,
            "output_tokens_details": {"reasoning_tokens": told.reasoning_tokens},
            "total_tokens": (told.input_tokens or 0) + (told.output_tokens or 0),
        }


class _Reasoning:
    """A reasoning item: summaries, and one seal for all of them."""

    def __init__(self, writer: ResponsesWriter, place: str, first: Think, seal: str | None) -> None:
        self._writer = writer
        self._id = f"rs_{place}"
        self._seals = (first.signed, first.encrypted)
        self._seal = seal
        self._summary: list[JSONObject] = []
        self._pieces: list[str] | None = None

    def takes(self, line: Think) -> bool:
        """Return whether a thought can be another summary of this item."""
        return (line.signed, line.encrypted) == self._seals and not line.encrypted

    def added_event(self) -> bytes:
        return self._writer.about("added", {"id": self._id, "type": "reasoning", "summary": []})

    def think(self, line: Think) -> Iterator[bytes]:
        if line.encrypted or not line.pieces:
            return
        yield from self._end_part()
        self._pieces = []
        yield self._part("part.added", part=_summary(""))
        for piece in line.pieces:
            self._pieces.append(piece)
            yield self._part("text.delta", delta=piece)

    def _end_part(self) -> Iterator[bytes]:
        if self._pieces is None:
            return
        text, self._pieces = "".join(self._pieces), None
        yield self._part("text.done", text=text)
        yield self._part("part.done", part=_summary(text))
        self._summary.append(_summary(text))

    def _part(self, verb: str, **fields: Any) -> bytes:
        kind = f"response.reasoning_summary_{verb}"
        return self._writer.at(kind, self._id, summary_index=len(self._summary), **fields)

    def done_events(self) -> Iterator[bytes]:
        yield from self._end_part()
        yield self._writer.about("done", self.item())

    def item(self) -> JSONObject:
        item = {"id": self._id, "type": "reasoning", "summary": self._summary}
        return item | ({} if self._seal is None else {"encrypted_content": self._seal})


class _Message:
    def __init__(self, writer: ResponsesWriter, place: str) -> None:
        self._writer = writer
        self._id = f"msg_{place}"
        self._pieces: list[str] = []

    def added_event(self) -> Iterator[bytes]:
        yield self._writer.about("added", self._item("in_progress", []))
        yield self._part("content_part.added", part=self._content())

    def say(self, line: Say) -> Iterator[bytes]:
        for piece in line.pieces:
            self._pieces.append(piece)
            yield self._part("output_text.delta", delta=piece, logprobs=[])

    def done_events(self) -> Iterator[bytes]:
        content = self._content()
        yield self._part("output_text.done", text=content["text"], logprobs=[])
        yield self._part("content_part.done", part=content)
        yield self._writer.about("done", self.item())

    def item(self) -> JSONObject:
        return self._item("completed", [self._content()])

    def _content(self) -> JSONObject:
        text = "".join(self._pieces)
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def _item(self, status: str, content: list[JSONObject]) -> JSONObject:
        item = {"id": self._id, "type": "message", "status": status}
        return item | {"role": "assistant", "content": content}

    def _part(self, verb: str, **fields: Any) -> bytes:
        return self._writer.at(f"response.{verb}", self._id, content_index=0, **fields)


_Event = tuple[str, JSONObject]


def _call_events(line: Call, item: JSONObject, index: int) -> list[_Event]:
    place = {"item_id": item["id"], "output_index": index}
    begun = item | {"status": "in_progress", "arguments": ""}
    arguments = "response.function_call_arguments"
    return [
        ("response.output_item.added", {"output_index": index, "item": begun}),
        *((f"{arguments}.delta", {**place, "delta": piece}) for piece in line.pieces),
        (f"{arguments}.done", {**place, "name": line.name, "arguments": line.raw}),
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]


def _summary(text: str) -> JSONObject:
    return {"type": "summary_text", "text": text}
