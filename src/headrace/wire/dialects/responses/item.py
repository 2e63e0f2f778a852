"""One output item of a Responses stream, from `output_item.added` to `output_item.done`.

Deltas are the source of truth. A `.done` event, the finished item and the final snapshot repeat
everything, so they only fill in what no delta contained, and restore what skipped frames held.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from headrace.content import JSONContent
from headrace.events import CitationAdded, DeltaEvent
from headrace.wire.dialects.responses.event import PlainEvent, WireEvent
from headrace.wire.json.payload import encode_json
from headrace.wire.json.value import as_int, as_object, as_objects, as_text
from headrace.wire.ledger import Output


class Item:
    """Base class of all items. The item itself is its key in the ledger, because ids may change
    between two events."""

    def __init__(self, output: Output, item: dict[str, Any]) -> None:
        self.output = output
        self.item_id = as_text(item.get("id"))
        self._added = item

    def begin(self, *, may_be_hidden: bool) -> None:
        """Take the announcement of the item, which may come long before its content.
        `may_be_hidden` is False if the response says that it has no reasoning options."""

    def feed(self, event: WireEvent) -> bool:
        """Take one event at the place of the item; returns False if it is about something else."""
        return False

    def read_delta(self, event: PlainEvent) -> DeltaEvent | None:
        """Return the event of a delta that only continues the open part, or None; see
        `JSONDialect.read_delta`."""
        return None

    def finish(self, item: dict[str, Any], as_written: str) -> None:
        """Take the finished item; called once."""

    def abandon(self) -> None:
        """Take the end of the stream if the item was never done. Parts that exist already stay as
        they are."""


class MessageItem(Item):
    """Text and refusals, by content index. The phase of a message is its channel."""

    def __init__(self, output: Output, item: dict[str, Any]) -> None:
        super().__init__(output, item)
        self._channel = as_text(item.get("phase"))
        self._told: set[tuple[int, bool]] = set()
        # The key of the text that came last, and its content index.
        self._key: Hashable = None
        self._index = -1
        # The numbers of the citations that were added, by content index.
        self._cited: dict[int, list[int]] = {}

    def feed(self, event: WireEvent) -> bool:
        match event.type:
            case "response.output_text.delta":
                self._add_text(event.content_index, as_text(event.delta))
            case "response.refusal.delta":
                self._add_text(event.content_index, as_text(event.delta), is_refusal=True)
            case "response.output_text.done":
                self._add_text_once(event.content_index, event.text)
            case "response.refusal.done":
                self._add_text_once(event.content_index, event.refusal, is_refusal=True)
            case "response.output_text.annotation.added" | "response.output_text_annotation.added":
                numbers = self._cited.setdefault(event.content_index, [])
                number = event.annotation_index
                numbers.append(len(numbers) if number is None else number)
                self._cite(event.annotation or {})
            case "response.content_part.done":
                self._add_whole(event.content_index, event.part or {})
                self.output.end_prose((self, event.content_index, False))
            case "response.content_part.added" | "response.reasoning_summary_part.added":
                pass
            case _:
                return False
        return True

    def read_delta(self, event: PlainEvent) -> DeltaEvent | None:
        if event.type != "response.output_text.delta" or event.content_index != self._index:
            return None
        return self.output.extend_text(event.delta, self._key)

    def finish(self, item: dict[str, Any], as_written: str) -> None:
        self._channel = self._channel or as_text(item.get("phase"))
        content = as_objects(item.get("content"))
        # Deltas win: some servers number the finished content differently.
        if not self._told or self.output.has_gap:
            for index, part in enumerate(content):
                self._add_whole(index, part)
        elif not self._cited:
            for index, part in enumerate(content):
                self._add_whole(index, {"annotations": part.get("annotations")})
        self.output.close_item(self)

    def _add_text(self, index: int, text: str | None, *, is_refusal: bool = False) -> None:
        if text:
            self._told.add((index, is_refusal))
            key = (self, index, is_refusal)
            self._key, self._index = key, -1 if is_refusal else index
            self.output.add_text(text, key, self, self._channel, is_refusal, self.item_id)

    def _add_text_once(self, index: int, text: str | None, *, is_refusal: bool = False) -> None:
        if (index, is_refusal) not in self._told:
            self._add_text(index, text, is_refusal=is_refusal)
        else:
            self.output.restore((self, index, is_refusal), text)

    def _add_whole(self, index: int, part: dict[str, Any]) -> None:
        self._add_text_once(index, as_text(part.get("text")))
        self._add_text_once(index, as_text(part.get("refusal")), is_refusal=True)
        if index not in self._cited or self.output.has_gap:
            self._cite_missing(index, as_objects(part.get("annotations")))

    def _cite_missing(self, index: int, annotations: list[dict[str, Any]]) -> None:
        """Add the citations of a finished content part that were not streamed."""
        told = set(self._cited.get(index, ()))
        if len(self._cited.get(index, ())) >= len(annotations):
            return
        for number, annotation in enumerate(annotations):
            if number not in told:
                self._cite(annotation)
        self._cited[index] = list(range(len(annotations)))

    def _cite(self, annotation: dict[str, Any]) -> None:
        kind = as_text(annotation.get("type")) or "unknown"
        self.output.cite(
            CitationAdded(
                part=self.output.find_part(self),
                source="url" if kind == "url_citation" else kind,
                ref=as_text(annotation.get("url")) or as_text(annotation.get("file_id")),
                title=as_text(annotation.get("title")) or as_text(annotation.get("filename")),
                start=as_int(annotation.get("start_index")),
                end=as_int(annotation.get("end_index")),
                raw=annotation,
            )
        )


class ReasoningItem(Item):
    """Summaries and raw reasoning, each part on its own, and the seal of all of them."""

    def __init__(self, output: Output, item: dict[str, Any]) -> None:
        super().__init__(output, item)
        self._told: set[tuple[bool, int]] = set()
        # The key of the summary that came last, and its index.
        self._key: Hashable = None
        self._index = -1

    def begin(self, *, may_be_hidden: bool) -> None:
        """Open the part now if the provider is likely to hide or summarize the reasoning: then
        nothing else tells when it began. Raw reasoning is streamed from its beginning."""
        if self._is_sealed or (may_be_hidden and self._looks_summarized):
            self._open(True, 0)

    @property
    def _is_sealed(self) -> bool:
        return bool(as_text(self._added.get("encrypted_content")))

    @property
    def _looks_summarized(self) -> bool:
        """Whether the announced item looks like those of OpenAI, Azure and xAI. Servers with raw
        reasoning add an empty `content` and a `status` (LM Studio, DeepSeek), or use other ids
        (vLLM, Bedrock)."""
        if self._added.get("content") or not (self.item_id or "").startswith("rs_"):
            return False
        return not ("status" in self._added and "content" in self._added)

    def feed(self, event: WireEvent) -> bool:
        match event.type:
            case "response.reasoning_summary_text.delta" | "response.reasoning_summary.delta":
                self._add_reasoning(True, event.summary_index, as_text(event.delta))
            case (
                "response.reasoning_text.delta"
                | "response.reasoning.delta"
                | "response.reasoning_content.delta"
            ):
                self._add_reasoning(False, event.content_index, as_text(event.delta))
            case "response.reasoning_summary_text.done":
                self._add_reasoning_once(True, event.summary_index, event.text)
            case "response.reasoning_summary_part.done":
                self._add_reasoning_once(
                    True, event.summary_index, as_text((event.part or {}).get("text"))
                )
                self.output.end_prose((self, True, event.summary_index))
            case "response.reasoning_text.done" | "response.reasoning.done":
                self._add_reasoning_once(False, event.content_index, event.text)
            case "response.content_part.done" | "response.reasoning_part.done":
                words = as_text((event.part or {}).get("text"))
                self._add_reasoning_once(False, event.content_index, words)
            case "response.content_part.added" | "response.reasoning_summary_part.added":
                pass
            case _:
                return False
        return True

    def read_delta(self, event: PlainEvent) -> DeltaEvent | None:
        is_next = event.summary_index == self._index
        if event.type != "response.reasoning_summary_text.delta" or not is_next:
            return None
        return self.output.extend_reasoning(event.delta, self._key)

    def finish(self, item: dict[str, Any], as_written: str) -> None:
        self.item_id = self.item_id or as_text(item.get("id"))
        for index, part in enumerate(as_objects(item.get("summary"))):
            self._add_reasoning_once(True, index, as_text(part.get("text")))
        for index, part in enumerate(as_objects(item.get("content"))):
            self._add_reasoning_once(False, index, as_text(part.get("text")))
        if not self._told:
            self.output.confirm_empty(self)
        self._seal(as_text(item.get("encrypted_content")))
        self.output.close_item(self)

    def _add_reasoning(self, is_summary: bool, index: int, text: str | None) -> None:
        if not text:
            return
        self._told.add((is_summary, index))
        key = (self, is_summary, index)
        self._key, self._index = key, index if is_summary else -1
        self.output.add_reasoning(
            text,
            key,
            self,
            "summary" if is_summary else "raw",
            index if is_summary else None,
            self.item_id,
        )

    def _open(self, is_summary: bool, index: int) -> None:
        self.output.open_reasoning(
            (self, is_summary, index),
            self,
            "summary" if is_summary else "raw",
            index if is_summary else None,
            self.item_id,
        )

    def _add_reasoning_once(self, is_summary: bool, index: int, text: str | None) -> None:
        if (is_summary, index) not in self._told:
            self._add_reasoning(is_summary, index, text)
        self.output.restore((self, is_summary, index), text)

    def _seal(self, encrypted: str | None) -> None:
        """Seal the item. An item without text is a part too, because it must be sent back."""
        if self.output.find_part(self) is None:
            self._open(False, 0)
        part = self.output.find_part(self)
        if encrypted and part is not None:
            self.output.seal(part, "encrypted", encrypted)


class UnknownItem(Item):
    """An item of an unknown kind: kept as it is, once it is complete."""

    def finish(self, item: dict[str, Any], as_written: str) -> None:
        kind = as_text(item.get("type")) or "unknown"
        self.output.add_opaque(kind, as_written, item_id=as_text(item.get("id")))

    def abandon(self) -> None:
        self.finish(self._added, encode_json(self._added))


class ResultItem(Item):
    """The output of a tool that the provider ran, if it is an item of its own."""

    def finish(self, item: dict[str, Any], as_written: str) -> None:
        content = item.get("output", item.get("result", item.get("tools")))
        self.output.add_tool_output(
            as_text(item.get("call_id")) or "",
            (JSONContent(content),),
            is_error=as_object(item).get("status") == "failed",
            item_id=self.item_id,
            provider_data={"item": item},
        )

    def abandon(self) -> None:
        self.finish(self._added, "")
