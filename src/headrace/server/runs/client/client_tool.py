"""`ClientTool`: a tool that the client of a door runs between two of its requests."""

from __future__ import annotations

from typing import Any

from headrace.content import TextContent
from headrace.encoders import ToolSpec
from headrace.projections.openai_responses import CLIENT_RESULT
from headrace.tools import Tool, ToolContext, ToolReturn

_PENDING = "The client runs this call. It has not sent the result yet."


class ClientTool(Tool):
    """A tool that the client describes in its request, and runs.

    A call ends the run when the other calls of the turn have results. The result that is stored
    says that the client has not answered; the next request of the client brings the real one.
    """

    def __init__(self, spec: ToolSpec) -> None:
        super().__init__(_never_called, name=spec.name, description=spec.description)
        self._spec = spec

    @property
    def spec(self) -> ToolSpec:
        """The tool as it is described to a provider."""
        return self._spec

    def find_problem(self, args: Any) -> str | None:
        """Return None: the client checks the arguments."""
        return None

    async def execute(self, args: Any, context: ToolContext) -> ToolReturn:
        """End the run, so that the client can answer."""
        content = (TextContent(_PENDING),)
        return ToolReturn(content=content, kind=CLIENT_RESULT, ends_run=True)


def _never_called() -> None:
    """Stand for the function that the client has."""
