"""One candidate of a Gemini stream: its parts in order, its sources, and why it ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.content import JSONContent, TextContent
from headrace.events import CitationAdded
from headrace.outcome import CONTENT_FILTER, END_TURN, MAX_TOKENS, FinishReason, other_reason
from headrace.wire.dialects.gemini.arguments import PartialArguments
from headrace.wire.dialects.gemini.response import WireCandidate, WirePart
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import encode_json
from headrace.wire.json.value import as_list, as_object, as_objects, as_text
from headrace.wire.ledger import Call, Output

RawParts: TypeAlias = Callable[[Frame, int], list[dict[str, Any]]]
"""The parts of a candidate as they lie on the wire, asked for where one is unknown."""

_FILTERS = frozenset(
    "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT"
    " IMAGE_RECITATION MODEL_ARMOR".split()
)
# Some clients write the enum's number.
_NUMBERS = (
    "FINISH_REASON_UNSPECIFIED STOP MAX_TOKENS SAFETY RECITATION OTHER LANGUAGE BLOCKLIST"
    " PROHIBITED_CONTENT SPII MALFORMED_FUNCTION_CALL IMAGE_SAFETY UNEXPECTED_TOOL_CALL"
).split()


class Candidate:
    """States the facts of one candidate to its output."""

    def __init__(self, output: Output, raw_parts: RawParts) -> None:
        self.output = output
        self._raw_parts = raw_parts
        self._partial: tuple[Call, PartialArguments] | None = None
        self._code_call_id = ""
        self._cited: set[str] = set()

    def feed(self, candidate: WireCandidate, frame: Frame) -> None:
        """Take one chunk of the candidate."""
        content = candidate.content
        if content is not None and content.parts:
            raw: list[dict[str, Any]] | None = None
            for at, part in enumerate(content.parts):
                if part.text:
                    self._add_text(part)
                elif part.is_other:
                    self._add_other(part)
                elif part.text is not None:
                    self._add_text(part)
                else:
                    raw = self._raw_parts(frame, candidate.index) if raw is None else raw
                    self._add_unknown(raw[at] if at < len(raw) else {}, part.thought_signature)
        if candidate.grounding_metadata:
            self._add_grounding(candidate.grounding_metadata)
        if candidate.citation_metadata:
            self._cite_all(candidate.citation_metadata)
        word = candidate.finish_reason
        if word is not None:
            # The last one counts, since some servers say STOP with every chunk.
            self.output.finish(parse_finish_reason(word), str(word), replaces=True)

    def close(self) -> None:
        """Take the end of the stream: a call whose pieces stopped coming does not count as
        complete."""
        if self._partial is not None:
            call, arguments = self._partial
            self._partial = None
            self.output.add_args(call, encode_json(arguments.value)[:-1])

    # -- parts

    def _add_text(self, part: WirePart) -> None:
        text = part.text or ""
        signature = part.thought_signature
        if signature:
            if part.thought:
                self.output.add_signed_reasoning(text, signature, "summary")
            else:
                self.output.add_signed_text(text, signature)
        elif part.thought:
            self.output.add_reasoning(text, None, None, "summary")
        else:
            self.output.add_text(text)

    def _add_other(self, part: WirePart) -> None:
        if part.function_call is not None:
            self._add_function_call(part.function_call, part.thought_signature)
        elif part.executable_code is not None:
            self._add_code(part.executable_code, part.thought_signature)
        elif part.code_execution_result is not None:
            self._add_code_result(part.code_execution_result, part.thought_signature)
        elif part.tool_call is not None:
            self._add_tool_call(part.tool_call, part.thought_signature)
        elif part.tool_response is not None:
            self._add_tool_response(part.tool_response, part.thought_signature)
        else:
            self._add_media(part)

    def _add_unknown(self, part: dict[str, Any], signature: str | None) -> None:
        """Keep a part of an unknown kind. A signature alone is a part too."""
        kind = next((name for name in part if name not in ("thought", "thoughtSignature")), None)
        if kind is not None:
            self.output.add_opaque(kind, encode_json(part))
        elif signature:
            self.output.add_signed_text("", signature)

    def _add_function_call(self, said: dict[str, Any], signature: str | None) -> None:
        """Take a call that is complete in one part, or spread over several."""
        if said.get("name"):
            # Another call begins; the one before never got its end.
            self.close()
        if self._partial is None:
            call = self.output.add_call(
                call_id=as_text(said.get("id")), name=as_text(said.get("name"))
            )
            self._partial = (call, PartialArguments())
        call, arguments = self._partial
        if signature:
            self.output.seal_call(call, "signature", signature)
        written = as_text(said.get("args"))
        arguments.set_all(as_object(said.get("args")))
        arguments.feed(said.get("partialArgs"))
        self.output.check_size(arguments.size)
        if not said.get("willContinue"):
            self._partial = None
            self.output.add_args(call, written or encode_json(arguments.value))
            self.output.end_call(call)

    def _add_provider_call(
        self, call_id: str | None, name: str, args: Any, signature: str | None
    ) -> str:
        call = self.output.add_call(call_id=call_id, name=name, executor="provider")
        if signature:
            self.output.seal_call(call, "signature", signature)
        self.output.add_args(call, encode_json(args))
        self.output.end_call(call)
        return call.call_id or ""

    def _add_code(self, code: dict[str, Any], signature: str | None) -> None:
        args = {name: code[name] for name in ("language", "code") if name in code}
        call_id = as_text(code.get("id"))
        self._code_call_id = self._add_provider_call(call_id, "code_execution", args, signature)

    def _add_code_result(self, result: dict[str, Any], signature: str | None) -> None:
        key = object()
        self.output.add_tool_output(
            as_text(result.get("id")) or self._code_call_id,
            (TextContent(as_text(result.get("output")) or ""),),
            is_error=as_text(result.get("outcome")) not in ("OUTCOME_OK", None),
            item_key=key,
            provider_data={"codeExecutionResult": result},
        )
        self._seal(key, signature)

    def _add_tool_call(self, said: dict[str, Any], signature: str | None) -> None:
        name = as_text(said.get("toolType")) or as_text(said.get("name")) or "tool"
        self._add_provider_call(as_text(said.get("id")), name, said.get("args"), signature)

    def _add_tool_response(self, said: dict[str, Any], signature: str | None) -> None:
        key = object()
        self.output.add_tool_output(
            as_text(said.get("id")) or "",
            (JSONContent(said.get("response")),),
            item_key=key,
            provider_data={"toolResponse": said},
        )
        self._seal(key, signature)

    def _add_media(self, part: WirePart) -> None:
        inline, file = part.inline_data or {}, part.file_data or {}
        if part.thought:
            # A sketch made while thinking is no part of the answer.
            told = {"inlineData": inline, "fileData": file}
            kept = {name: value for name, value in told.items() if value}
            sealed = {"thoughtSignature": part.thought_signature} if part.thought_signature else {}
            self.output.add_opaque("thought", encode_json({**kept, "thought": True, **sealed}))
            return
        key = object()
        media_type = as_text(inline.get("mimeType")) or as_text(file.get("mimeType")) or "unknown"
        data, url = as_text(inline.get("data")), as_text(file.get("fileUri"))
        self.output.add_media(media_type, data=data, url=url, item_key=key)
        self._seal(key, part.thought_signature)

    def _seal(self, key: object, signature: str | None) -> None:
        part = self.output.find_part(key)
        if signature and part is not None:
            self.output.seal(part, "signature", signature)

    # -- sources

    def _add_grounding(self, grounding: dict[str, Any]) -> None:
        """Add the pages that an answer rests on, and which words rest on which page."""
        chunks = [
            as_object(chunk.get("web") or chunk.get("retrievedContext") or chunk.get("maps"))
            or chunk
            for chunk in as_objects(grounding.get("groundingChunks"))
        ]
        for chunk in chunks:
            self._cite("web", chunk, None, None)
        for support in as_objects(grounding.get("groundingSupports")):
            quote = as_text(as_object(support.get("segment")).get("text"))
            for index in as_list(support.get("groundingChunkIndices")):
                if isinstance(index, int) and 0 <= index < len(chunks):
                    self._cite("web", chunks[index], quote, support)

    def _cite_all(self, citations: dict[str, Any]) -> None:
        sources = citations.get("citationSources") or citations.get("citations")
        for source in as_objects(sources):
            self._cite("citation", source, None, source)

    def _cite(self, kind: str, page: dict[str, Any], quote: str | None, raw: Any) -> None:
        """Add a source. Google counts bytes, so its positions stay in `raw`."""
        ref = as_text(page.get("uri")) or as_text(page.get("url"))
        mark = encode_json([kind, ref, quote, raw])
        if mark in self._cited:
            return
        self._cited.add(mark)
        self.output.cite(
            CitationAdded(
                part=self.output.last_text_part if raw is not None else None,
                source=kind,
                ref=ref,
                title=as_text(page.get("title")),
                quote=quote,
                raw=page if raw is None else raw,
            )
        )


def parse_finish_reason(word: str | int | None) -> FinishReason | None:
    """Parse a reason, given as a word or as the number of the enum; None while there is none."""
    if isinstance(word, int):
        word = _NUMBERS[word] if 0 <= word < len(_NUMBERS) else str(word)
    if not word or word == "FINISH_REASON_UNSPECIFIED":
        return None
    if word in _FILTERS:
        return CONTENT_FILTER
    return {"STOP": END_TURN, "MAX_TOKENS": MAX_TOKENS}.get(word) or other_reason(word)
