"""`MCPPrompt`: a prompt that MCP clients offer to their users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from headrace.content import Content
from headrace.encoders.text_content import to_text
from headrace.errors import HeadraceError, UsageError
from headrace.tools import Tool, ToolContext


class PromptFailed(HeadraceError):
    """The function of a prompt has failed, or its arguments do not fit."""


class PromptArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of a prompt."""

    name: str
    description: str | None
    is_required: bool


class MCPPrompt:
    """A function that returns the messages of a prompt: a text, an image, a file, or a list of
    them. Each becomes a message of the user.

    The name, the description and the arguments come from the function, as for a tool; arguments
    are texts. A parameter of the type `ToolContext` lets it ask the user. Raises `UsageError` for a
    function that cannot be a prompt.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        self._tool = Tool(function, name=name, description=description)
        self.name = self._tool.name
        self.description = self._tool.description
        schema = self._tool.parameters
        required = schema.get("required", ())
        self.arguments: list[PromptArgument] = []
        for key, part in schema.get("properties", {}).items():
            if part.get("type") != "string":
                raise UsageError(f"the argument {key} of the prompt {self.name} must be a str")
            self.arguments.append(
                PromptArgument(
                    name=key, description=part.get("description"), is_required=key in required
                )
            )

    async def read(self, arguments: Mapping[str, str], context: ToolContext) -> list[Content]:
        """Call the function. Raises `PromptFailed`."""
        result = await self._tool.execute(dict(arguments), context)
        if result.is_error:
            raise PromptFailed(to_text(result.content))
        return list(result.content)
