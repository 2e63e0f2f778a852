"""Builders of parts and turns that are still growing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace.messages import message as msg
from headrace.messages.message import Part

MANY_PIECES = 16
"""How many pieces of a text are collected before they are joined."""


class PartBuilder:
    """A part that is still growing: its fields so far, and what accumulates."""

    __slots__ = ("_joined", "activities", "citations", "fields", "kind", "seals", "text")

    def __init__(self, kind: Callable[..., Part], start: Any, at_ms: int) -> None:
        self.kind = kind
        self.fields: dict[str, Any] = msgspec.structs.asdict(start)
        self.fields["started_ms"] = at_ms
        self.text: list[str] = []
        """The newest pieces."""
        self._joined: list[str] = []
        self.seals: list[msg.Seal] = []
        self.citations: list[msg.Citation] = []
        self.activities: list[msg.Activity] = []

    def join(self) -> None:
        """Join the collected pieces: many short strings take about four times their characters."""
        self._joined.append("".join(self.text))
        self.text.clear()

    def restore(self, text: str) -> None:
        """Replace all that was collected."""
        self.text[:] = [text]
        self._joined.clear()

    @property
    def whole(self) -> str:
        """The text so far."""
        return "".join((*self._joined, *self.text))

    def part(self) -> Part:
        """Return the part as it is now."""
        fields = dict(self.fields)
        if self.kind is msg.TextPart or self.kind is msg.ReasoningPart:
            fields["text"] = self.whole
            fields["citations"] = tuple(self.citations)
        elif self.kind is msg.CallPart:
            fields.setdefault("raw", self.whole)
            fields["activities"] = tuple(self.activities)
        return self.kind(seals=tuple(self.seals), **fields)


class TurnBuilder:
    """A turn that is still growing. After `is_settled` is set, it is built only once."""

    __slots__ = (
        "_settled", "added", "citations", "fields", "is_settled", "outputs", "parts", "requests",
        "results", "tool_starts",
    )  # fmt: skip

    def __init__(self, step: int) -> None:
        self.fields: dict[str, Any] = {"step": step}
        self.parts: list[PartBuilder] = []
        self.outputs: dict[int, msg.OutputEnd] = {}
        self.citations: list[msg.Citation] = []
        self.results: dict[str, msg.CallResult] = {}
        self.tool_starts: dict[str, int] = {}
        self.requests: dict[str, msg.InputRequest] = {}
        self.added: list[msg.AddedMessage] = []
        self.is_settled = False
        self._settled: msg.Turn | None = None

    def turn(self) -> msg.Turn:
        """Return the turn as it is now."""
        if not self.is_settled:
            return self._build()
        if self._settled is None:
            self._settled = self._build()
        return self._settled

    def forget_settled(self) -> None:
        """Build the turn again when it is asked for: something was added after its step."""
        self._settled = None

    def _build(self) -> msg.Turn:
        parts = tuple(builder.part() for builder in self.parts)
        return msg.Turn(
            **self.fields,
            parts=parts,
            outputs=tuple(self.outputs.values()),
            citations=tuple(self.citations),
            results=self._ordered_results(parts),
            requests=tuple(self.requests.values()),
            added=tuple(self.added),
        )

    def edited_args(self, call_id: str) -> Any:
        """Return the arguments that a person has given for a call, or None."""
        for request in self.requests.values():
            is_approved = request.kind == "approval" and request.decision == "accepted"
            if request.call_id == call_id and is_approved:
                return request.value
        return None

    def _ordered_results(self, parts: tuple[Part, ...]) -> tuple[msg.CallResult, ...]:
        """Return the results in the order of the calls, whichever tool ended first."""
        order = {
            part.call_id: at for at, part in enumerate(parts) if isinstance(part, msg.CallPart)
        }
        last = len(parts)
        return tuple(sorted(self.results.values(), key=lambda r: order.get(r.call_id, last)))
