"""`AgentTool`: an agent that another agent calls as a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from headrace.engine.nested.nesting import Nesting
from headrace.tools import Tool, ToolReturn, tool_error

if TYPE_CHECKING:
    from headrace.engine.agent import Agent


class AgentTool(Tool):
    """An agent as a tool. Each call starts a nested run, whose records are in the log of the run
    around it. Create it with `agent.as_tool()`."""

    def __init__(
        self,
        agent: Agent[Any],
        *,
        name: str,
        description: str,
        input_type: Any = str,
        timeout_s: float | None = None,
        **options: Any,
    ) -> None:
        self.agent = agent
        self._is_text = input_type is str
        super().__init__(
            _create_function(name, input_type),
            name=name,
            description=description,
            timeout_s=timeout_s,
            is_idempotent=True,
            **options,
        )

    async def play(self, args: Any, nesting: Nesting) -> ToolReturn:
        """Play the nested run of a call, or continue it, and return its answer."""
        problem = nesting.find_problem() or self.find_problem(args)
        if problem is not None:
            return tool_error(f"{self.name} was not run: {problem}")
        question = args["task"] if self._is_text else msgspec.json.encode(args["input"]).decode()
        return await self.agent.play_nested(question, nesting)


def _create_function(name: str, input_type: Any) -> Any:
    """Return a function with the parameter that the model fills in."""

    async def ask_text(task: str) -> None:
        """Do a task.

        Args:
            task: What to do, with everything that must be known for it.
        """

    async def ask_typed(input: Any) -> None:
        """Do a task."""

    ask_typed.__annotations__["input"] = input_type
    function = ask_text if input_type is str else ask_typed
    function.__name__ = name
    return function
