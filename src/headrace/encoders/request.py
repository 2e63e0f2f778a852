"""What is asked of a model, before any provider's JSON: messages, tools and options."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import Message

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How hard to think; every provider's own knob is mapped from it."""


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may call."""

    name: str
    description: str = ""
    parameters: JSONObject = msgspec.field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    """The JSON schema of its arguments."""
    is_strict: bool = False
    """Ask for arguments that obey the schema to the letter, where that is offered."""


class OutputSchema(msgspec.Struct, frozen=True, kw_only=True):
    """The answer's own JSON schema."""

    schema: JSONObject
    name: str = "answer"


class Options(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What may be asked beside the messages. None leaves it to the provider."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    effort: Effort | None = None
    tool_choice: str | None = None
    """`auto`, `none`, `required`, or the name of the one tool to call."""
    parallel_calls: bool | None = None
    output: OutputSchema | None = None


def parse_options(given: dict[str, Any]) -> Options:
    """Options by name. Raises `UsageError` for an unknown name or a wrong value, and says
    what there is: an option is never dropped in silence."""
    known = Options.__struct_fields__
    unknown = sorted(given.keys() - set(known))
    if unknown:
        raise UsageError(f"no option {', '.join(unknown)}: there are {', '.join(known)}")
    try:
        return msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise UsageError(f"a wrong option: {error}") from None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One turn to ask for. `provider` and `model` decide which seals may go back."""

    model: str
    messages: tuple[Message, ...]
    provider: str | None = None
    instructions: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    options: Options = Options()

    @property
    def tool_choice(self) -> str | None:
        """The choice, as far as there is one to make: without tools `auto` and `none` are
        true already. Raises `UsageError` for a tool that is not there."""
        choice = self.options.tool_choice
        names = [tool.name for tool in self.tools]
        if choice in (None, "auto", "none"):
            return choice if names else None
        if choice != "required" and choice not in names:
            raise UsageError(
                f"no tool {choice!r} to choose: there are {', '.join(names) or 'none'}"
            )
        if not names:
            raise UsageError("tool_choice='required' needs a tool")
        return choice

    @property
    def parallel_calls(self) -> bool | None:
        """Whether calls may come together; providers refuse the word without tools."""
        return self.options.parallel_calls if self.tools else None


def reject_options(options: Options, who: str, *names: str) -> None:
    """Raise `UsageError` where one of these options is set: this grammar has none such."""
    given = [name for name in names if getattr(options, name) not in (None, ())]
    if given:
        raise UsageError(f"{who} has no option {', '.join(map(repr, given))}: leave it out")
