"""`AgentSpans`: the open spans of one agent, the outermost one or a sub-agent."""

from __future__ import annotations

from headrace.telemetry.names import convert_provider
from headrace.telemetry.span import Span
from headrace.usage import Usage

_NO_USAGE = Usage()


class AgentSpans:
    """What is known of the run of one agent while its records are read."""

    __slots__ = (
        "chat", "finish_reasons", "model", "path", "provider", "ready_ms", "span", "step",
        "tool_names", "tools", "usage",
    )  # fmt: skip

    def __init__(self, path: tuple[str, ...], model: str | None) -> None:
        provider, _, name = (model or "").partition(":")
        self.path = path
        self.provider = convert_provider(provider) if name else None
        self.model: str | None = name or model
        """Name of the model, without the provider."""
        self.span: Span | None = None
        """The span of the run, or None while the run is not going on."""
        self.chat: Span | None = None
        """The span of the request that is being answered."""
        self.tools: dict[str, Span] = {}
        """The spans of calls that run, by call id."""
        self.tool_names: dict[str, str] = {}
        """Names of the tools that were called, by call id."""
        self.finish_reasons: list[str] = []
        self.usage = _NO_USAGE
        """Sum over the turns since the run was started or resumed, those of sub-agents included."""
        self.ready_ms = 0
        """When the next request could be sent."""
        self.step = 0

    def begin(self, span: Span) -> None:
        """Begin with the span of the run, at its start or when it is resumed."""
        self.span = span
        self.ready_ms = span.start_ms
        self.usage = _NO_USAGE

    def add_usage(self, usage: Usage) -> None:
        """Add the usage of a turn, or of a sub-agent."""
        self.usage = usage if self.usage is _NO_USAGE else self.usage + usage

    def take_open(self) -> list[Span]:
        """Return the spans that are open below the agent, and forget them."""
        chat = [] if self.chat is None else [self.chat]
        spans = [*chat, *self.tools.values()]
        self.chat, self.tools, self.finish_reasons = None, {}, []
        return spans
