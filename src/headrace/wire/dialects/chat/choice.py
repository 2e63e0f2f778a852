"""One choice of a chat stream: states the facts of its deltas in order."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from headrace.content import JSONContent, TextContent
from headrace.events import CitationAdded, DeltaEvent
from headrace.outcome import ErrorInfo, other_reason
from headrace.secrets.scrub import scrub
from headrace.wire.dialects.chat.calls import ChatCalls
from headrace.wire.dialects.chat.chunk import PlainDelta, WireCall, WireChoice, WireDelta
from headrace.wire.dialects.chat.quirks import ERROR_WORDS, FINISH_WORDS, ChatQuirks
from headrace.wire.dialects.chat.reasoning import feed_reasoning, is_in_blocks_alone
from headrace.wire.json.payload import encode_json
from headrace.wire.json.value import as_int, as_list, as_object, as_objects, as_text
from headrace.wire.ledger import Call, Output
from headrace.wire.think_tags import ThinkTags

_REFUSAL = ("refusal",)
_MARKED = ("marked",)


class Choice:
    """States the facts of one choice to its output."""

    __slots__ = (
        "_audio", "_audio_chars", "_calls", "_executed", "_has_deltas", "_has_only_blocks",
        "_tags", "output",
    )  # fmt: skip

    def __init__(self, output: Output, quirks: ChatQuirks, max_depth: int) -> None:
        self.output = output
        self._calls = ChatCalls(output, max_depth)
        self._tags = _create_think_tags(quirks)
        self._has_deltas = False
        self._has_only_blocks = False
        self._executed: dict[int, Call] = {}
        self._audio: list[str] = []
        self._audio_chars = 0

    def feed_plain(self, delta: PlainDelta) -> None:
        """Take a delta that has only text, reasoning or calls."""
        self._has_deltas = True
        if delta.reasoning_content:
            if self._tags is not None:
                self._release()
            self.output.add_reasoning(delta.reasoning_content)
        if delta.content:
            if self._tags is None:
                self.output.add_text(delta.content)
            else:
                self._add_text(delta.content, None)
        if delta.tool_calls:
            self._feed_calls(delta.tool_calls)

    def read_delta(self, delta: PlainDelta) -> DeltaEvent | None:
        """Return the event of a delta that only continues the open part, or None; see
        `JSONDialect.read_delta`."""
        if self._tags is not None or not self._has_deltas:
            return None
        text, thought, calls = delta.content, delta.reasoning_content, delta.tool_calls
        if calls:
            return None if text or thought or len(calls) > 1 else self._calls.read_delta(calls[0])
        if text:
            return None if thought else self.output.extend_text(text)
        return self.output.extend_reasoning(thought)

    def feed(self, choice: WireChoice) -> None:
        """Take a delta: reasoning, then text, then calls."""
        delta = choice.delta
        if delta is None and not self._has_deltas:
            # Next to or after deltas, a message is a copy of them.
            delta = choice.message
        if delta is not None:
            self._has_deltas = True
            thought = delta.reasoning_content
            if (
                delta.reasoning
                or delta.reasoning_details
                or delta.reasoning_text
                or delta.reasoning_opaque
                or delta.thinking_blocks
                or delta.extra_content
            ):
                self._add_reasoning(delta)
            elif thought:
                if self._tags is not None:
                    self._release()
                self.output.add_reasoning(thought)
            content = delta.content
            if content:
                channel = delta.channel
                if self._tags is not None or not isinstance(content, str):
                    self._add_content(content, channel)
                elif channel is None:
                    self.output.add_text(content)
                else:
                    self.output.add_text(content, channel, None, channel)
            if delta.tool_calls:
                self._feed_calls(delta.tool_calls)
            if (
                delta.refusal
                or delta.function_call
                or delta.annotations
                or delta.images
                or delta.audio
                or delta.executed_tools
            ):
                self._handle_rare(delta)
        elif choice.text:
            # A legacy text completion; next to a delta it is a copy.
            self._add_content(choice.text, None)

    def end(self, reason: object) -> ErrorInfo | None:
        """Take the finish reason, a word or an object with one. Returns an error if the word means
        one."""
        word = as_text(reason) or as_text(as_object(reason).get("type"))
        if word is None or word == "null":
            return None
        category = ERROR_WORDS.get(word.lower())
        if category is not None:
            message = f"the provider ended the output with {scrub(word)!r}"
            return ErrorInfo(category, message, code=scrub(word), retryable=True)
        self.output.finish(FINISH_WORDS.get(word.lower()) or other_reason(word), word)
        return None

    def close(self) -> None:
        """State what was held back, because the stream ends."""
        self._release()
        if any(self._audio):
            self.output.add_media("audio", data=_join_base64(self._audio))
            self._audio.clear()

    def _add_reasoning(self, delta: WireDelta) -> None:
        self._release()
        if not self._has_only_blocks:
            # Where reasoning has come in another field before, a block repeats it.
            is_first = self.output.last_reasoning_part is None
            self._has_only_blocks = is_first and is_in_blocks_alone(delta)
        feed_reasoning(self.output, delta, has_only_blocks=self._has_only_blocks)
        told = as_object((delta.extra_content or {}).get("google"))
        if told.get("thought") is True and isinstance(delta.content, str):
            # Gemini's compatible endpoint marks reasoning in a field next to the text.
            self.output.add_reasoning(delta.content, _MARKED, None, "summary")
            delta.content = None

    def _add_content(self, content: str | list[Any] | dict[str, Any], channel: str | None) -> None:
        if isinstance(content, str):
            self._add_text(content, channel)
            return
        for part in [content] if isinstance(content, dict) else content:
            if isinstance(part, str):
                self._add_text(part, channel)
            elif as_object(part):
                self._add_entry(as_object(part))

    def _feed_calls(self, entries: list[WireCall] | WireCall) -> None:
        if self._tags is not None:
            self._release()
        for entry in [entries] if isinstance(entries, WireCall) else entries:
            self._calls.feed(entry)

    def _add_text(self, text: str, channel: str | None) -> None:
        if self._tags is None:
            self.output.add_text(text, channel, None, channel)
            return
        self._add_pieces(self._tags.feed(text), channel)
        if self._tags.is_done:
            self._tags = None

    def _release(self) -> None:
        """Treat what looked like a tag as text, because something other than text comes."""
        if self._tags is not None:
            self._add_pieces(self._tags.close())
            self._tags = None

    def _add_pieces(self, pieces: list[tuple[bool, str]], channel: str | None = None) -> None:
        for is_reasoning, text in pieces:
            if is_reasoning:
                self.output.add_reasoning(text)
            else:
                self.output.add_text(text, channel, None, channel)

    def _add_entry(self, entry: dict[str, Any]) -> None:
        match entry.get("type"):
            case "text" | "output_text":
                text = entry.get("text")
                self._add_text(as_text(text) or as_text(as_object(text).get("value")) or "", None)
            case "thinking":
                self._release()
                self.output.add_reasoning(_join_texts(entry.get("thinking")))
            case "reasoning":
                self._release()
                self._add_summaries(entry)
            case "image_url":
                self._add_image(entry)
            case "reference":
                for ref in as_list(entry.get("reference_ids")):
                    self._cite(CitationAdded(source="reference", ref=str(ref), raw=entry))
            case str(kind):
                self.output.add_opaque(kind, encode_json(entry))
            case _ if as_text(entry.get("text")):
                self._add_text(as_text(entry.get("text")) or "", None)
            case _:
                self.output.add_opaque("content", encode_json(entry))

    def _add_summaries(self, entry: dict[str, Any]) -> None:
        for part in as_objects(entry.get("summary")) or [entry]:
            key = ("entry", part.get("type"))
            words = as_text(part.get("text")) or as_text(part.get("reasoning")) or ""
            self.output.add_reasoning(words, key, key, "summary")
            signature = as_text(part.get("signature"))
            if signature:
                self.output.sign(signature, key, key)

    def _handle_rare(self, delta: WireDelta) -> None:
        self._release()
        for tool in as_objects(delta.executed_tools):
            self._add_executed_tool(tool)
        if delta.refusal:
            self.output.add_text(delta.refusal, _REFUSAL, None, None, True)
        if delta.function_call:
            self._calls.feed_legacy(delta.function_call)
        for annotation in as_objects(delta.annotations):
            self._add_annotation(annotation)
        for image in as_objects(delta.images):
            self._add_image(image)
        if delta.audio:
            self._add_audio(delta.audio)

    def _add_executed_tool(self, tool: dict[str, Any]) -> None:
        """Report a tool that the provider ran. It comes once or twice: when it begins, and with its
        output."""
        index = as_int(tool.get("index")) or 0
        call = self._executed.get(index)
        if call is None:
            name = as_text(tool.get("name")) or as_text(tool.get("type"))
            call = self.output.add_call(
                call_id=as_text(tool.get("id")), name=name, executor="provider"
            )
            self._executed[index] = call
            self.output.add_args(call, as_text(tool.get("arguments")) or "")
        output = tool.get("output") or tool.get("search_results")
        if output:
            self.output.end_call(call)
            content = TextContent(output) if isinstance(output, str) else JSONContent(output)
            self.output.add_tool_output(
                call.call_id or "", (content,), provider_data={"executed_tool": tool}
            )

    def _add_annotation(self, annotation: dict[str, Any]) -> None:
        kind = as_text(annotation.get("type")) or "unknown"
        cited = as_object(annotation.get(kind)) or annotation
        self._cite(
            CitationAdded(
                source="url" if kind == "url_citation" else kind,
                ref=as_text(cited.get("url") or cited.get("hash")),
                title=as_text(cited.get("title") or cited.get("name")),
                quote=as_text(cited.get("content")),
                start=as_int(cited.get("start_index")),
                end=as_int(cited.get("end_index")),
                raw=annotation,
            )
        )

    def _cite(self, citation: CitationAdded) -> None:
        self.output.cite(msgspec.structs.replace(citation, part=self.output.last_text_part))

    def _add_image(self, entry: dict[str, Any]) -> None:
        given = entry.get("image_url")
        url = as_text(given) or as_text(as_object(given).get("url")) or ""
        if as_text(entry.get("b64_json")):
            self.output.add_media("image", data=entry["b64_json"])
        head, comma, data = url.partition(",")
        if comma and head.startswith("data:") and head.endswith(";base64"):
            self.output.add_media(head[5:-7] or "image", data=data)
        elif url:
            self.output.add_media("image", url=url)

    def _add_audio(self, audio: dict[str, Any]) -> None:
        """Take spoken answers: the transcript is text, the sound becomes one medium at the end."""
        self.output.add_text(as_text(audio.get("transcript")) or "", "audio", None, "audio")
        sound = as_text(audio.get("data")) or ""
        self._audio_chars += len(sound)
        self.output.check_size(self._audio_chars)
        self._audio.append(sound)


def _create_think_tags(quirks: ChatQuirks) -> ThinkTags | None:
    if not quirks.think_tags:
        return None
    return ThinkTags(quirks.think_tags, is_inside=quirks.starts_inside_thinking)


def _join_texts(thought: object) -> str:
    texts = (as_text(entry.get("text")) or "" for entry in as_objects(thought))
    return as_text(thought) or "".join(texts)


def _join_base64(pieces: list[str]) -> str:
    """Join as bytes, because each piece may have its own padding."""
    try:
        whole = b"".join(base64.b64decode(piece, validate=True) for piece in pieces)
    except ValueError:
        return "".join(pieces)
    return base64.b64encode(whole).decode()
