"""Whole answers of the Chat Completions protocol, for clients that do not stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from headrace.events import JSONObject, Record
from headrace.projections.discarded_step import drop_discarded
from headrace.projections.openai_chat.frame import (
    CallDelta,
    Choice,
    Chunk,
    ErrorBody,
    ErrorFrame,
    Piece,
)
from headrace.projections.openai_chat.projection import ChatProjection

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_LISTS = ("annotations", "images")


def build_completion(records: Iterable[Record], **options: Any) -> JSONObject | ErrorBody:
    """Return the body of a whole answer, or the error that it ended with.

    `options` are those of `ChatProjection`, and `response_id`.
    """
    projection = ChatProjection(**options, include_usage=True)
    fold = _Fold()
    for record in drop_discarded(records):
        for frame in projection.feed(record):
            fold.feed(frame)
    for frame in projection.close():
        fold.feed(frame)
    return fold.body if fold.error is None else fold.error


class _Fold:
    """Collects the chunks of one answer."""

    def __init__(self) -> None:
        self.error: ErrorBody | None = None
        self._head: JSONObject = {}
        self._choices: dict[int, _ChoiceFold] = {}

    def feed(self, frame: object) -> None:
        """Take the next frame."""
        if isinstance(frame, ErrorFrame):
            self.error = frame.error
        if isinstance(frame, Chunk):
            self._head |= {"id": frame.id, "created": frame.created, "model": frame.model}
            for name in ("usage", "service_tier", "warning"):
                value = getattr(frame, name)
                if value is not UNSET:
                    self._head[name] = value
        if not isinstance(frame, Chunk | Piece):
            return
        for choice in frame.choices:
            self._choices.setdefault(choice.index, _ChoiceFold()).feed(choice)

    @property
    def body(self) -> JSONObject:
        """The body so far."""
        choices = [{"index": index} | fold.body for index, fold in sorted(self._choices.items())]
        return {**self._head, "object": "chat.completion", "choices": choices}


class _ChoiceFold:
    """Collects the deltas of one choice."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._lists: JSONObject = {}
        self._blocks: dict[int, JSONObject] = {}
        self._calls: dict[int, JSONObject] = {}
        self._end: JSONObject = {"finish_reason": None, "logprobs": None}

    def feed(self, choice: Choice) -> None:
        """Take the next delta."""
        delta = choice.delta
        for name in _TEXTS:
            text = getattr(delta, name)
            if text:
                self._texts.setdefault(name, []).append(text)
        for name in _LISTS:
            self._lists.setdefault(name, []).extend(getattr(delta, name))
        for block in delta.thinking_blocks:
            known = self._blocks.setdefault(block.index, {"type": block.type})
            for name in ("thinking", "signature", "data"):
                value = getattr(block, name)
                if value is not None:
                    known[name] = known.get(name, "") + value
        for call in delta.tool_calls:
            self._feed_call(call)
        if choice.finish_reason is not None:
            self._end["finish_reason"] = choice.finish_reason
        if choice.logprobs is not UNSET:
            self._end["logprobs"] = choice.logprobs

    def _feed_call(self, delta: CallDelta) -> None:
        call = self._calls.setdefault(delta.index, {"pieces": []})
        told = delta.function or delta.custom
        for name, value in (("id", delta.id), ("type", delta.type)):
            if value is not None:
                call[name] = value
        if told is not None:
            call.setdefault("name", getattr(told, "name", ""))
            call["pieces"].append(getattr(told, "arguments", None) or getattr(told, "input", ""))
        if delta.extra_content is not None:
            call["extra_content"] = delta.extra_content

    @property
    def body(self) -> JSONObject:
        """The choice so far."""
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        message: JSONObject = {"role": "assistant", "content": None, "refusal": None} | texts
        if self._calls:
            message["tool_calls"] = [_finish_call(call) for call in self._calls.values()]
        if self._blocks:
            message["thinking_blocks"] = list(self._blocks.values())
        lists = {name: entries for name, entries in self._lists.items() if entries}
        return {"message": message | lists, **self._end}


def _finish_call(call: JSONObject) -> JSONObject:
    written = "".join(call["pieces"])
    body: JSONObject = {"id": call["id"], "type": call["type"]}
    if call["type"] == "custom":
        body["custom"] = {"name": call["name"], "input": written}
    else:
        body["function"] = {"name": call["name"], "arguments": written}
    return body | ({"extra_content": call["extra_content"]} if "extra_content" in call else {})
