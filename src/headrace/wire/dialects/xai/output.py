"""One output of an xAI stream: a step of the agent, the result of a tool, or a candidate."""

from __future__ import annotations

from headrace import outcome
from headrace.content import TextContent
from headrace.events import JSONObject
from headrace.outcome import FinishReason, other_reason
from headrace.wire.dialects.xai.calls import XAICalls, get_end_status
from headrace.wire.dialects.xai.chunk import WireCall, WireDelta
from headrace.wire.dialects.xai.citation import TextPlaces, XAISources
from headrace.wire.ledger import Output

REASONS: dict[str, FinishReason] = {
    "REASON_MAX_LEN": outcome.MAX_TOKENS,
    "REASON_MAX_CONTEXT": outcome.CONTEXT_FULL,
    "REASON_STOP": outcome.END_TURN,
    "REASON_TOOL_CALLS": outcome.TOOL_USE,
    "REASON_TIME_LIMIT": outcome.TIME_LIMIT,
}
NO_REASON = "REASON_INVALID"


class XAIOutput:
    """States the facts of one output. The finish reason ends it at once."""

    def __init__(self, output: Output, calls: XAICalls, sources: XAISources) -> None:
        self.output = output
        self._calls = calls
        self._sources = sources
        self._encrypted: list[str] = []
        self._encrypted_chars = 0
        self._sealed = ""
        # xAI counts through the output's whole text: the text parts, and how many characters
        # stand before each.
        self._places = TextPlaces()
        self._chars = 0

    def feed(self, delta: WireDelta) -> None:
        """Take a delta: reasoning, then text, then calls, then sources."""
        if delta.reasoning_content:
            self.output.add_reasoning(delta.reasoning_content)
        if delta.content:
            self._add_content(delta.content)
        if delta.tool_calls or delta.citations or delta.encrypted_content:
            self._handle_rare(delta)

    def end(self, word: str) -> None:
        """Take the finish reason; the first one ends the output."""
        if word == NO_REASON or self.output.is_finished:
            return
        self.release(is_cut=False)
        self.output.finish(REASONS.get(word) or other_reason(word), word)
        self.output.close(is_cut=False)

    def pause(self) -> None:
        """Take the notice that a later step begins."""

    def release(self, *, is_cut: bool) -> None:
        """State what was held back, because the output ends. A seal that may be incomplete is
        dropped; a piece that comes after the finish is a second seal, and the two are sent back
        joined."""
        sealed, self._encrypted = "".join(self._encrypted), []
        if self._sealed and sealed.startswith(self._sealed):
            # All of it once more, not the rest.
            sealed = sealed[len(self._sealed) :]
        if not sealed or (is_cut and not self.output.is_finished):
            return
        self._sealed += sealed
        part = self.output.last_reasoning_part
        if part is None and self.output.is_finished:
            # Too late for a part of its own, but any part can hold it.
            part = self.output.last_text_part
        if part is None:
            self.output.add_redacted(sealed)
        else:
            self.output.seal(part, "encrypted", sealed)

    def _add_content(self, text: str) -> None:
        output = self.output
        output.add_text(text)
        self._places.add(output.last_text_part, self._chars)
        self._chars += len(text)

    def _handle_rare(self, delta: WireDelta) -> None:
        for entry in delta.tool_calls or ():
            self._feed_call(entry)
        for citation in delta.citations or ():
            self._sources.cite(self.output, citation, self._places)
        if delta.encrypted_content:
            self._add_encrypted(delta.encrypted_content)

    def _feed_call(self, entry: WireCall) -> None:
        self._calls.feed(self.output, entry)

    def _add_encrypted(self, piece: str) -> None:
        self._encrypted_chars += len(piece)
        self.output.check_size(self._encrypted_chars)
        self._encrypted.append(piece)


class XAIToolOutput(XAIOutput):
    """An output with the role of a tool: its content is the result of that tool, stated once it is
    complete."""

    def __init__(self, output: Output, calls: XAICalls, sources: XAISources) -> None:
        super().__init__(output, calls, sources)
        self._pieces: list[str] = []
        self._call_ids: list[str] = []
        self._answered: list[str] = []
        self._is_error = False

    def pause(self) -> None:
        """State the result, which is complete because a later step begins."""
        self.release(is_cut=False)

    def release(self, *, is_cut: bool) -> None:
        """State the result: one for each call that it answers, with the content in the first."""
        answered, self._answered = self._answered, []
        words, self._pieces = "".join(self._pieces), []
        sealed, self._encrypted = "".join(self._encrypted), []
        if not (answered or words or sealed):
            return
        item = object()
        content = (TextContent(words),) if words else ()
        data: JSONObject | None = {"encrypted_content": sealed} if sealed and not is_cut else None
        for call_id in answered or self._call_ids[:1] or [""]:
            self.output.add_tool_output(
                call_id, content, is_error=self._is_error, item_key=item, provider_data=data
            )
            content, data = (), None

    def _add_content(self, text: str) -> None:
        self.output.raise_if_finished()
        self._chars += len(text)
        self.output.check_size(self._chars)
        self._pieces.append(text)

    def _add_encrypted(self, piece: str) -> None:
        self.output.raise_if_finished()
        super()._add_encrypted(piece)

    def _feed_call(self, entry: WireCall) -> None:
        call_id = self._calls.feed(self.output, entry)
        end = get_end_status(entry)
        self._is_error = self._is_error or end == "failed"
        if call_id is None:
            return
        if call_id not in self._call_ids:
            self._call_ids.append(call_id)
            if end is not None and not self.output.is_finished:
                self._answered.append(call_id)
