"""Messages and reasoning items: texts that grow, with their citations and seals."""

from __future__ import annotations

from typing import Any, TypeAlias

from headrace import events as ev
from headrace.events import JSONObject
from headrace.messages import Seal
from headrace.messages.seal_envelope import SealEnvelope, encode_envelope
from headrace.projections.openai_responses.frame import (
    AnswerDeltaFrame,
    ResponsesFrame,
    SummaryDeltaFrame,
    TextDeltaFrame,
)
from headrace.projections.openai_responses.item_list import ItemList
from headrace.projections.openai_responses.response import encode_annotation

Frames: TypeAlias = list[ResponsesFrame]
Seals: TypeAlias = list[tuple[ev.SealKind, str]]
_PHASES = ("commentary", "final_answer")


class _Prose:
    """A message or a reasoning item that is open."""

    def __init__(self, number: int, index: int, item_id: str, is_reasoning: bool) -> None:
        self.number = number
        self.index = index
        self.id = item_id
        self.is_reasoning = is_reasoning
        self.is_announced = False
        self.is_open = True
        self.has_raw = False
        self.phase: str | None = None
        self.content: list[JSONObject] = []
        self.summary: list[JSONObject] = []
        self.seals: list[tuple[ev.SealKind, str]] = []
        self.redacted: str | None = None
        self.provider_data: JSONObject | None = None
        self.open_parts = 0


class _ProsePart:
    """A text, refusal or reasoning part. Its pieces are joined once, when it ends."""

    def __init__(self, prose: _Prose, noun: str, kind: str, is_summary: bool = False) -> None:
        self.prose = prose
        self.noun = noun
        """Beginning of the types of its events, such as `response.output_text`."""
        self.kind = kind
        """Type of the content part."""
        self.delta_type = f"{noun}.delta"
        self.is_summary = is_summary
        self.place = -1
        """Its number in the item, once it has begun."""
        self.pieces: list[str] = []
        self.text_number: int | None = None
        self.annotations: list[JSONObject] = []


class ProseItems:
    """The messages and reasoning items of a response. Each method takes an event and returns its
    frames.

    At most one item of each output is open. It ends when another item begins, or with the turn,
    because seals and citations may come after the text.
    """

    def __init__(self, items: ItemList, raw_noun: str) -> None:
        self._list = items
        self._raw_noun = raw_noun
        # By output: those of an agent's successive steps may overlap.
        self._open: dict[int, _Prose] = {}
        self._parts: dict[int, _ProsePart] = {}
        self._texts = 0
        self.text_seals: dict[int, Seals] = {}
        """Seals of texts, by the number of the text in its turn."""

    def start_turn(self) -> None:
        """Begin a turn: the parts of the one before are complete."""
        self._parts, self.text_seals = {}, {}
        self._texts = 0

    def start_text(self, event: ev.TextStarted) -> Frames:
        """Begin a text, which is announced with its first delta."""
        frames = self._open_prose(event, is_reasoning=False)
        prose = self._open[event.output]
        if event.channel in _PHASES:
            prose.phase = event.channel
        noun, kind = ("refusal", "refusal") if event.is_refusal else ("output_text", "output_text")
        self._parts[event.part] = _ProsePart(prose, f"response.{noun}", kind)
        prose.open_parts += 1
        return frames

    def start_reasoning(self, event: ev.ReasoningStarted) -> Frames:
        """Begin a part of reasoning."""
        frames = self._open_prose(event, is_reasoning=True)
        prose = self._open[event.output]
        prose.provider_data = event.provider_data or prose.provider_data
        is_summary = event.kind == "summary"
        prose.has_raw = prose.has_raw or not is_summary
        noun, kind = (
            ("response.reasoning_summary_text", "summary_text")
            if is_summary
            else (self._raw_noun, "reasoning_text")
        )
        self._parts[event.part] = _ProsePart(prose, noun, kind, is_summary)
        prose.open_parts += 1
        return [*frames, *self._announce(prose)]

    def add_redacted(self, event: ev.ReasoningRedacted) -> Frames:
        """Begin a reasoning item that only the provider can read."""
        frames = self._open_prose(event, is_reasoning=True)
        prose = self._open[event.output]
        prose.redacted = event.data
        prose.provider_data = event.provider_data
        return [*frames, *self._announce(prose)]

    def add_delta(self, part_number: int, text: str) -> Frames:
        """Return the frames of a delta of text or reasoning; by far the most."""
        part = self._parts.get(part_number)
        if part is None:
            return []
        part.pieces.append(text)
        frames: Frames = [] if part.place >= 0 else self._begin_part(part)
        number, prose = self._list.sequence, part.prose
        self._list.sequence = number + 1
        make = (
            SummaryDeltaFrame
            if part.is_summary
            else AnswerDeltaFrame
            if part.kind == "output_text"
            else TextDeltaFrame
        )
        frames.append(make(part.delta_type, number, prose.id, prose.index, part.place, text))
        return frames

    def restore(self, part_number: int, text: str) -> Frames:
        """Replace what came of a part. What was sent stays, and the end of the part repeats it
        whole."""
        part = self._parts.get(part_number)
        if part is None or part.place < 0:
            return [] if part is None or not text else self.add_delta(part_number, text)
        part.pieces = [text]
        return []

    def finish_part(self, part_number: int, signature: str | None = None) -> Frames:
        """End a part. Its item stays open for more parts, seals and citations."""
        part = self._parts.get(part_number)
        if part is None:
            return []
        part.prose.open_parts -= 1
        if signature is not None:
            part.prose.seals.append(("signature", signature))
        if part.place < 0:
            return []
        text = "".join(part.pieces)
        part.pieces = []
        prose = part.prose
        place = {"item_id": prose.id, "output_index": prose.index}
        if part.is_summary:
            content: JSONObject = {"type": "summary_text", "text": text}
            prose.summary[part.place] = content
            place["summary_index"] = part.place
            return [
                self._list.frame(f"{part.noun}.done", place | {"text": text}),
                self._list.frame("response.reasoning_summary_part.done", place | {"part": content}),
            ]
        content = _content_part(part.kind, text, part.annotations)
        prose.content[part.place] = content
        place["content_index"] = part.place
        whole = {"refusal": text} if part.kind == "refusal" else {"text": text}
        logprobs: JSONObject = {"logprobs": []} if part.kind == "output_text" else {}
        return [
            self._list.frame(f"{part.noun}.done", place | whole | logprobs),
            self._list.frame("response.content_part.done", place | {"part": content}),
        ]

    def cite(self, event: ev.CitationAdded) -> Frames:
        """Add a citation to a text."""
        part = None if event.part is None else self._parts.get(event.part)
        if part is None or part.kind != "output_text" or part.place < 0:
            return []
        annotation = encode_annotation(event, self._list.is_ours)
        if annotation is None:
            return []
        part.annotations.append(annotation)
        prose = part.prose
        content = prose.content[part.place]
        prose.content[part.place] = content | {"annotations": list(part.annotations)}
        if not prose.is_open:
            # The item is done: only the response at the end can have it.
            self._list.items[prose.index] = self._prose_item(prose, "completed")
            return []
        fields = {
            "item_id": prose.id,
            "output_index": prose.index,
            "content_index": part.place,
            "annotation_index": len(part.annotations) - 1,
            "annotation": annotation,
        }
        return [self._list.frame("response.output_text.annotation.added", fields)]

    def seal(self, event: ev.PartSealed) -> bool:
        """Keep a seal of a text or reasoning part; return whether it is one."""
        part = self._parts.get(event.part)
        if part is None:
            return False
        seal = (event.kind, event.value)
        if part.prose.is_reasoning:
            part.prose.seals.append(seal)
        elif part.text_number is not None:
            self.text_seals.setdefault(part.text_number, []).append(seal)
        return True

    def _open_prose(self, event: Any, *, is_reasoning: bool) -> Frames:
        """Open the item of a part, or keep it open if it has the same one."""
        prose = self._open.get(event.output)
        if (
            prose is not None
            and (prose.number, prose.is_reasoning) == (event.item, is_reasoning)
            and prose.redacted is None
        ):
            return []
        frames = [] if prose is None else self._close(event.output, "completed")
        frames += self.leave()
        # The number is taken when the item is announced: a text may turn out to be empty.
        self._open[event.output] = _Prose(event.item, -1, event.item_id or "", is_reasoning)
        return frames

    def _announce(self, prose: _Prose) -> Frames:
        if prose.is_announced:
            return []
        prose.is_announced = True
        prose.index = self._list.reserve()
        prefix = "rs" if prose.is_reasoning else "msg"
        prose.id = self._list.make_id(prefix, prose.index, prose.id or None)
        return [self._list.announce(prose.index, self._prose_item(prose, "in_progress"))]

    def _begin_part(self, part: _ProsePart) -> Frames:
        prose = part.prose
        frames = self._announce(prose)
        place: JSONObject = {"item_id": prose.id, "output_index": prose.index}
        if part.is_summary:
            part.place = len(prose.summary)
            prose.summary.append({"type": "summary_text", "text": ""})
            fields = {"summary_index": part.place, "part": prose.summary[-1]}
            frames.append(self._list.frame("response.reasoning_summary_part.added", place | fields))
            return frames
        part.place = len(prose.content)
        if part.kind == "output_text":
            part.text_number = self._texts
            self._texts += 1
        prose.content.append(_content_part(part.kind, "", []))
        fields = {"content_index": part.place, "part": prose.content[-1]}
        frames.append(self._list.frame("response.content_part.added", place | fields))
        return frames

    def leave(self) -> Frames:
        """End what is open because another item begins, unless a part of it is open: calls of the
        provider can begin and end meanwhile."""
        idle = [output for output, prose in self._open.items() if not prose.open_parts]
        return [frame for output in idle for frame in self._close(output, "completed")]

    def close(self, status: str = "completed") -> Frames:
        """End everything that is open."""
        return [frame for output in list(self._open) for frame in self._close(output, status)]

    def _close(self, output: int, status: str) -> Frames:
        prose = self._open.pop(output)
        prose.is_open = False
        if not prose.is_announced:
            return []
        open_parts = [
            number
            for number, part in self._parts.items()
            if part.prose is prose and part.pieces and part.place >= 0
        ]
        frames = [frame for number in open_parts for frame in self.finish_part(number)]
        return [*frames, self._list.finish(prose.index, self._prose_item(prose, status))]

    def _prose_item(self, prose: _Prose, status: str) -> JSONObject:
        if not prose.is_reasoning:
            phase = {} if prose.phase is None else {"phase": prose.phase}
            head = {"id": prose.id, "type": "message", "status": status, "role": "assistant"}
            return head | phase | {"content": list(prose.content)}
        item: JSONObject = {"id": prose.id, "type": "reasoning", "summary": list(prose.summary)}
        if prose.has_raw:
            item |= {"content": list(prose.content), "status": status}
        sealed = self._encrypt(prose) if status != "in_progress" else None
        return item if sealed is None else item | {"encrypted_content": sealed}

    def _encrypt(self, prose: _Prose) -> str | None:
        if not self._list.includes_seals:
            return None
        if self._list.is_ours:
            values = [value for kind, value in prose.seals if kind == "encrypted"]
            return values[-1] if values else None
        # Also without a seal: the origin decides whether the reasoning may be sent back.
        facts = {"data": prose.redacted, "provider_data": prose.provider_data}
        return encode_seals(self._list.turn, prose.seals, **facts)


def _content_part(kind: str, text: str, annotations: list[JSONObject]) -> JSONObject:
    if kind == "refusal":
        return {"type": kind, "refusal": text}
    if kind == "reasoning_text":
        return {"type": kind, "text": text}
    return {"type": kind, "annotations": list(annotations), "logprobs": [], "text": text}


def encode_seals(turn: ev.TurnStarted, seals: Seals, **facts: Any) -> str:
    """Return the envelope with the seals of a part of this turn."""
    envelope = SealEnvelope(
        dialect=turn.dialect,
        provider=turn.provider,
        model=turn.model,
        seals=tuple(Seal(kind, value) for kind, value in seals),
        **facts,
    )
    return encode_envelope(envelope)
