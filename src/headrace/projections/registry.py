"""The table of protocols: what clients can read a run as, and the projection that produces it.

A protocol is a row here and a package with `create_projection`, `encode_frame` and `frame_type`.
Packages are imported when they are first used, so that listing the protocols costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, cast

if TYPE_CHECKING:
    from headrace.events import Record
    from headrace.messages import Message


class Projection(Protocol):
    """Turns records into the frames of one protocol."""

    def feed(self, record: Record) -> list[Any]:
        """Return the frames of one record."""
        ...

    def close(self) -> list[Any]:
        """Return the frames that are left when the records end, finished or not."""
        ...


class ProjectionPackage(Protocol):
    """What the package of a protocol provides."""

    def create_projection(
        self,
        event_id: str | None = None,
        message: Callable[[], Message] | None = None,
        **options: Any,
    ) -> Projection:
        """Create the projection of one run.

        `event_id` is the id of the answer on a server. `message` returns the message as far as it
        is known, for a caller that folds the records anyway. `options` are those that this
        protocol has.
        """
        ...

    def encode_frame(self, frame: Any) -> bytes:
        """Encode a frame as the payload of one server-sent event."""
        ...

    def frame_type(self, frame: Any) -> str:
        """Return the name of a frame's type."""
        ...


ContentKind: TypeAlias = Literal["text", "reasoning", "result", "end"]
"""What a record can add to an answer: text, reasoning, the result of a tool, or its end."""

MAX_OPTION = 1_000_000_000
"""The largest number that an option can have."""


class ProtocolOption(NamedTuple):
    """An option of a protocol, given in the query of a stream's address."""

    name: str
    """The name in the query, and in `create_projection`."""
    description: str
    """What it does, in one line."""
    choices: tuple[str, ...] = ()
    """The values that it can have. None of them means a number from 0 to `MAX_OPTION`."""

    def parse(self, text: str) -> Any:
        """Return the value that a query has for this option; raises `ValueError`."""
        if self.choices:
            if text not in self.choices:
                raise ValueError(f"{self.name} must be {' or '.join(self.choices)}")
            return text
        is_number = text.isascii() and text.isdigit() and len(text) < 19
        if not is_number or int(text) > MAX_OPTION:
            raise ValueError(f"{self.name} must be a number from 0 to {MAX_OPTION}")
        return int(text)

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        if self.choices:
            return {"type": "string", "enum": list(self.choices)}
        return {"type": "integer", "minimum": 0, "maximum": MAX_OPTION}


class ProtocolInfo(NamedTuple):
    """One protocol."""

    name: str
    """The value of `?protocol=` and of `headrace decode --as`."""
    description: str
    """What its frames are, in one line."""
    package: str
    """The Python package of its projection; see `ProjectionPackage`."""
    ends: tuple[str, ...]
    """The `type` of each last frame: exactly one of them ends a run."""
    content: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The `type` of the frames that carry each `ContentKind` but `end`. From it the server tells
    what a client that changes protocols has received of a record."""
    options: tuple[ProtocolOption, ...] = ()
    """What a client may ask for."""
    names_events: bool = False
    """Whether each server-sent event has the type of its frame in an `event:` line."""

    def carries(self, kind: ContentKind, frame_type: str) -> bool:
        """Return whether frames of this type carry content of this kind."""
        types = self.ends if kind == "end" else self.content.get(kind, ())
        return frame_type in types

    def load(self) -> ProjectionPackage:
        """Import the package of this protocol."""
        return cast("ProjectionPackage", import_module(self.package))


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        ProtocolInfo(
            "ux",
            "segments as they grow, and the whole message as an event",
            "headrace.projections.ux",
            ("message_final", "message_error", "message_cancelled"),
            {
                "text": ("text_delta",),
                "reasoning": ("reasoning_part_delta",),
                "result": (
                    "tool_result",
                    "web_search_call_result",
                    "code_interpreter_call_result",
                    "file_search_call_result",
                    "mcp_call_result",
                    "image_generation_call_result",
                ),
            },
        ),
        ProtocolInfo(
            "thinking",
            "thinking_*, text_*, status and tools",
            "headrace.projections.thinking",
            ("done", "error", "cancelled"),
            {
                "text": ("text_delta",),
                "reasoning": ("thinking_delta",),
                "result": ("tool_result",),
            },
            (
                ProtocolOption(
                    "text_shape",
                    "how text is sent: as `text_delta` frames, or as OpenAI chat chunks",
                    ("text_delta", "openai"),
                ),
                ProtocolOption(
                    "max_thinking_chars",
                    "the longest text of `thinking_complete`; by default it is complete",
                ),
            ),
        ),
    )
}
"""The protocols of Headrace itself by name. The first is the default."""
FOREIGN_PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        ProtocolInfo(
            "openai-chat",
            "chunks of OpenAI's Chat Completions API",
            "headrace.projections.openai_chat",
            ("[DONE]",),
            options=(
                ProtocolOption(
                    "reasoning_field",
                    "the field that has the reasoning; the default is `reasoning_content`",
                    ("reasoning_content", "reasoning", "none"),
                ),
                ProtocolOption(
                    "thinking_blocks",
                    "whether signed reasoning is also sent as `thinking_blocks`, so that it can be"
                    " sent back",
                    ("true", "false"),
                ),
            ),
        ),
        ProtocolInfo(
            "openai-responses",
            "events of OpenAI's Responses API and of Open Responses",
            "headrace.projections.openai_responses",
            ("response.completed", "response.incomplete", "response.failed"),
            {
                "text": ("response.output_text.delta", "response.refusal.delta"),
                "reasoning": (
                    "response.reasoning_text.delta",
                    "response.reasoning.delta",
                    "response.reasoning_summary_text.delta",
                ),
                "result": ("response.mcp_call.completed", "response.mcp_call.failed"),
            },
            (
                ProtocolOption(
                    "reasoning_events",
                    "how raw reasoning is streamed: as OpenAI does, or as Open Responses does",
                    ("openai", "open_responses"),
                ),
            ),
            names_events=True,
        ),
        ProtocolInfo(
            "anthropic-messages",
            "events of Anthropic's Messages API",
            "headrace.projections.anthropic_messages",
            ("message_stop", "error"),
            names_events=True,
        ),
        ProtocolInfo(
            "ai-sdk",
            "chunks of the UI message stream of the Vercel AI SDK",
            "headrace.projections.ai_sdk",
            ("[DONE]",),
        ),
        ProtocolInfo(
            "ag-ui",
            "events of AG-UI",
            "headrace.projections.ag_ui",
            ("RUN_FINISHED", "RUN_ERROR"),
        ),
    )
}
"""Protocols of other projects by name, each with routes of its own."""
DEFAULT_PROTOCOL = next(iter(PROTOCOLS))


def find_protocol(name: str) -> ProtocolInfo:
    """Return a protocol by its name, which must exist."""
    return PROTOCOLS.get(name) or FOREIGN_PROTOCOLS[name]


def protocol_names() -> str:
    """Return the names of Headrace's protocols for an error message: `ux, thinking`."""
    return ", ".join(PROTOCOLS)
