"""One choice of a chat stream: what its deltas say, in order."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import Failure
from headrace.events import CitationAdded
from headrace.wire.dialects.chat.calls import ChatCalls
from headrace.wire.dialects.chat.chunk import WireChoice, WireDelta
from headrace.wire.dialects.chat.quirks import FAILURE_WORDS, FINISH_WORDS, ChatQuirks
from headrace.wire.dialects.chat.reasoning import feed_reasoning
from headrace.wire.failure import scrub
from headrace.wire.ledger import Output
from headrace.content import CONTENT_FILTER, END_TURN, other
from headrace.wire.think_tags import ThinkTags

_REFUSAL = ("refusal",)


class Choice:
    """States the facts of one choice to its output."""

    def __init__(self, output: Output, quirks: ChatQuirks, max_depth: int) -> None:
        self.output = output
        self._calls = ChatCalls(output, max_depth)
        self._tags = _tags(quirks)
        self._audio: list[str] = []

    def feed(self, choice: WireChoice) -> Failure | None:
        """Reasoning, then text, then calls, then the end. A failure where the finish
        reason is one."""
        delta = choice.delta or choice.message
        if delta is not None:
            self._delta(delta)
        word = choice.finish_reason
        if not word:
            return None
        if word.lower() in FAILURE_WORDS:
            return Failure(
                "server", f"the provider ended the output with {scrub(word)!r}", retryable=True
            )
        self.output.finish(FINISH_WORDS.get(word.lower()) or other(word), word)
        return None

    def close(self) -> None:
        """The stream ends: what was held back is said."""
        if self._tags is not None:
            self._tagged(self._tags.close())
        if self._audio:
            self.output.media("audio", data="".join(self._audio))
            self._audio.clear()
        if self.output.has_refusal and self.output.reason == END_TURN:
            self.output.reason = CONTENT_FILTER

    def _delta(self, delta: WireDelta) -> None:
        content = delta.content
        if (
            delta.reasoning_content
            or delta.reasoning
            or delta.reasoning_details
            or delta.reasoning_text
            or delta.reasoning_opaque
            or delta.thinking_blocks
        ):
            feed_reasoning(self.output, delta)
        if content:
            if isinstance(content, str):
                self._text(content, delta.channel)
            else:
                for entry in content:
                    self._entry(entry)
        if delta.tool_calls:
            for entry in delta.tool_calls:
                self._calls.feed(entry)
        if delta.refusal or delta.function_call or delta.annotations or delta.images or delta.audio:
            self._seldom(delta)

    def _text(self, text: str, channel: str | None) -> None:
        if self._tags is None:
            self.output.text(text, channel, None, channel)
            return
        self._tagged(self._tags.feed(text), channel)
        if self._tags.is_done:
            self._tags = None

    def _tagged(self, pieces: list[tuple[bool, str]], channel: str | None = None) -> None:
        for is_reasoning, text in pieces:
            if is_reasoning:
                self.output.reasoning(text)
            else:
                self.output.text(text, channel, None, channel)

    def _entry(self, entry: Any) -> None:
        """One entry of a content array."""
        if not isinstance(entry, dict):
            return
        match entry:
            case {"type": "text", "text": str(text)}:
                self._text(text, None)
            case {"type": "thinking", "thinking": thought}:
                self.output.reasoning(_joined(thought))
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                self._image(url)
            case {"type": "reference", "reference_ids": list(ids)}:
                for ref in ids:
                    self._cite(CitationAdded(source="reference", ref=str(ref), raw=entry))
            case {"type": str(kind)}:
                self.output.opaque(kind, msgspec.json.encode(entry).decode())
            case _:
                pass

    def _seldom(self, delta: WireDelta) -> None:
        if delta.refusal:
            self.output.text(delta.refusal, _REFUSAL, None, None, True)
        if delta.function_call:
            self._calls.feed_legacy(delta.function_call)
        for annotation in delta.annotations or ():
            self._annotation(annotation)
        for image in delta.images or ():
            if isinstance(image, dict):
                self._entry({"type": "image_url", **image})
        if delta.audio:
            self._hear(delta.audio)

    def _annotation(self, annotation: Any) -> None:
        match annotation:
            case {"url_citation": dict(cited)}:
                source = "url"
            case {"type": "file", "file": dict(cited)}:
                source = "file"
            case {"type": str(source)}:
                cited = annotation
            case _:
                return
        self._cite(
            CitationAdded(
                part=None,
                source=source,
                ref=_str(cited.get("url") or cited.get("hash")),
                title=_str(cited.get("title") or cited.get("name")),
                quote=_str(cited.get("content")),
                start=_int(cited.get("start_index")),
                end=_int(cited.get("end_index")),
                raw=annotation,
            )
        )

    def _cite(self, citation: CitationAdded) -> None:
        self.output.cite(
            msgspec.structs.replace(citation, part=self.output.last_text_part)
        )

    def _image(self, url: str) -> None:
        head, comma, data = url.partition(",")
        if comma and head.startswith("data:") and head.endswith(";base64"):
            self.output.media(head[5:-7] or "image", data=data)
        else:
            self.output.media("image", url=url)

    def _hear(self, audio: dict[str, Any]) -> None:
        """Spoken answers: the transcript is text, the sound is one medium at the end."""
        if isinstance(audio.get("transcript"), str):
            self.output.text(audio["transcript"], "audio", None, "audio")
        if isinstance(audio.get("data"), str):
            self._audio.append(audio["data"])


def _tags(quirks: ChatQuirks) -> ThinkTags | None:
    if quirks.think_tags is None:
        return None
    return ThinkTags(*quirks.think_tags, is_inside=quirks.starts_inside_thinking)


def _joined(thought: Any) -> str:
    if isinstance(thought, str):
        return thought
    if not isinstance(thought, list):
        return ""
    return "".join(
        entry["text"]
        for entry in thought
        if isinstance(entry, dict) and isinstance(entry.get("text"), str)
    )


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
