"""`Span`: one operation of a run, with its times, attributes and place in a trace."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from headrace.events import TraceIds

Operation: TypeAlias = Literal["invoke_agent", "chat", "execute_tool"]
AttributeValue: TypeAlias = str | bool | int | float | tuple[str, ...]
Attributes: TypeAlias = dict[str, AttributeValue]

_EMPTY: Final = ((), "")


class SpanEvent(NamedTuple):
    """Something that happened during a span."""

    name: str
    at_ms: int
    attributes: Attributes


@dataclass(eq=False)
class Span:
    """One operation: a run of an agent, a request to a model, or a call of a tool."""

    operation: Operation
    target: str | None
    """Name of the agent, the model or the tool."""
    ids: TraceIds
    start_ms: int
    parent: Span | None = field(default=None, repr=False)
    """The span around it, if that is part of the same run."""
    link: TraceIds | None = None
    """The span of the run before it was suspended or its process was killed."""
    attributes: Attributes = field(default_factory=dict[str, AttributeValue], init=False)
    events: list[SpanEvent] = field(default_factory=list[SpanEvent], init=False)
    # The others have their default in the class: many spans never set most of them.
    end_ms: int | None = field(default=None, init=False)
    error: str | None = field(default=None, init=False)
    """Category of the error, if the operation failed."""
    error_message: str | None = field(default=None, init=False)
    """The error message, if content is recorded."""
    first_chunk_ms: int | None = field(default=None, init=False)
    first_reasoning_ms: int | None = field(default=None, init=False)
    first_text_ms: int | None = field(default=None, init=False)
    last_chunk_ms: int = field(default=0, init=False)
    chunk_gaps_ms: list[int] | None = field(default=None, init=False)
    """Times between the chunks of a response."""
    handle: Any = field(default=None, init=False, repr=False)
    """The span of a tracer that stands for this one while it is open."""
    known: Attributes | None = field(default=None, init=False, repr=False)
    """The attributes that the tracer has got when the span was started."""
    children: dict[str, int] | None = field(default=None, init=False, repr=False)
    """How many children of each kind it has."""

    @property
    def name(self) -> str:
        """The name of the span: the operation, and what it is applied to."""
        return f"{self.operation} {self.target}" if self.target else self.operation

    @property
    def is_client(self) -> bool:
        """Whether the operation is a request to another service."""
        return self.operation == "chat"

    def note_chunk(self, at_ms: int) -> None:
        """Note that a chunk of the response has arrived. What arrives in the same millisecond is
        one chunk."""
        if at_ms > self.last_chunk_ms:
            if self.first_chunk_ms is not None:
                if self.chunk_gaps_ms is None:
                    self.chunk_gaps_ms = []
                self.chunk_gaps_ms.append(at_ms - self.last_chunk_ms)
            self.last_chunk_ms = at_ms

    def set(self, name: str, value: Any) -> None:
        """Set an attribute, unless the value is None or empty."""
        if value is not None and value not in _EMPTY:
            self.attributes[name] = value

    def set_all(self, values: Mapping[str, Any]) -> None:
        """Set several attributes, except those whose value is None or empty."""
        attributes = self.attributes
        for name, value in values.items():
            if value is not None and value not in _EMPTY:
                attributes[name] = value

    def create_child(
        self, operation: Operation, target: str | None, start_ms: int, key: str = ""
    ) -> Span:
        """Return a new span below this one. Its id depends only on its place and its key, so that
        spans which are computed from the same records again have the same ids."""
        kind = f"{operation}/{key}"
        if self.children is None:
            self.children = {}
        number = self.children[kind] = self.children.get(kind, 0) + 1
        own = self.ids
        place = f"{own.trace_id}/{own.span_id}/{kind}/{number}"
        span_id = hash_id(place, 8)
        ids = TraceIds(own.trace_id, span_id, own.span_id, own.is_sampled)
        return Span(operation, target, ids, start_ms, parent=self)


def hash_id(text: str, size: int) -> str:
    """Return an id of `size` bytes, in hexadecimal, that depends only on the text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[: 2 * size]
