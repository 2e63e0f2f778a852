"""Steps: what a model does before it answers."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from headrace.projections.ux import segment as sg

State: TypeAlias = Literal["running", "completed", "failed", "incomplete", "approval_requested"]
_NAMES = {
    "web_search_call": "Web search",
    "code_interpreter_call": "Code interpreter",
    "file_search_call": "File search",
    "mcp_call": "MCP",
    "image_generation_call": "Image generation",
}
_KEPT_TO_ITSELF = "The provider does not show this part of the reasoning."


class Thought:
    """A reasoning segment."""

    def __init__(self, segment_id: str) -> None:
        self.id = segment_id
        self.duration_ms: int | None = None
        self._parts: dict[int, list[str]] = {}

    def begin(self, part: int, *, is_redacted: bool) -> None:
        self._parts[part] = [_KEPT_TO_ITSELF] if is_redacted else []

    def add(self, part: int, text: str) -> None:
        self._parts.setdefault(part, []).append(text)

    @property
    def text(self) -> str:
        """All parts, separated by blank lines."""
        texts = ("".join(pieces).strip("\n") for pieces in self._parts.values())
        return "\n\n".join(text for text in texts if text)

    def tail(self, chars: int) -> str:
        """Return the end of the text without joining all of it."""
        found: list[str] = []
        for pieces in reversed(self._parts.values()):
            for piece in reversed(pieces):
                found.append(piece)
                chars -= len(piece)
                if chars <= 0:
                    return "".join(reversed(found))
            found.append("\n\n")
        return "".join(reversed(found)).lstrip("\n")


class Tool:
    """A tool call."""

    def __init__(self, segment_id: str, name: str) -> None:
        self.id = segment_id
        self.name = name
        self.args: Any = None
        self.args_text = ""
        self.logs = ""
        self.status = "writing"
        self.progress: float | None = None
        self.state: State = "running"
        self.result: Any = None
        self.error: str | None = None
        self.duration_ms: int | None = None
        self.steps: list[Step] = []
        """What a sub-agent has done for the call."""


class Other:
    """An item that Headrace does not interpret."""

    def __init__(self, segment_id: str, kind: str) -> None:
        self.id = segment_id
        self.words = f"An item of type “{kind}”, stored unchanged."


Step: TypeAlias = Thought | Tool | Other


def tool_name(kind: str, name: str) -> str:
    """Return the display name of a tool; `kind` is the type of its segment."""
    return f"MCP {name}" if kind == "mcp_call" else _NAMES.get(kind, name)


def stored_steps(segments: tuple[sg.Segment, ...]) -> list[Step]:
    """Return the steps of a stored answer."""
    return [step for segment in segments if (step := _stored_step(segment)) is not None]


def _stored_step(segment: sg.Segment) -> Step | None:
    match segment:
        case sg.ReasoningSegment():
            thought = Thought(segment.id)
            thought.duration_ms = segment.duration_ms
            for part in segment.parts:
                thought.begin(part.summary_index, is_redacted=part.type == "redacted")
                thought.add(part.summary_index, part.text)
            return thought
        case sg.ToolSegment():
            return _stored_tool(segment)
        case sg.OpaqueSegment():
            return Other(segment.id, segment.kind)
        case _:
            return None


def _stored_tool(segment: sg.ToolSegment) -> Tool:
    tool = Tool(segment.id, tool_name(str(segment.__struct_config__.tag), segment.name))
    tool.args, tool.result, tool.error = segment.args, segment.result, segment.error
    tool.state, tool.duration_ms = segment.status, segment.duration_ms
    if segment.event is not None:
        tool.steps = stored_steps(segment.event.segments)
    return tool
