"""`ExternalTool`: a tool whose result comes from outside, such as from the browser or a person."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec

from headrace.encoders import ToolSpec
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.tools.function import check_name

_TEXT_PARAMETERS: JSONObject = {
    "type": "object",
    "properties": {"question": {"type": "string", "description": "What the user is asked."}},
    "required": ["question"],
}


class ExternalTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that this process does not run. A call makes the run wait until somebody gives the
    result with `run.answer()` or, on a server, over HTTP.

    `kind` tells who is asked: `"result"` another program, such as the page in the browser; `"form"`
    a person, who fills in a form that `schema` describes; `"text"` a person, who answers in words.
    The tool of a form or text takes one argument, the question, unless `parameters` are given.
    """

    name: str
    description: str
    parameters: JSONObject = {}
    """JSON schema of the arguments."""
    kind: Literal["result", "form", "text"] = "result"
    schema: JSONObject | None = None
    """JSON schema of the result."""
    expires_in_s: float | None = None
    """Seconds until a request expires; None takes `RunLimits.input_timeout_s`."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.kind == "form" and self.schema is None:
            raise UsageError(f"{self.name}: a form needs a schema")

    @property
    def spec(self) -> ToolSpec:
        """The tool as it is described to a provider."""
        default: JSONObject = {"type": "object", "properties": {}}
        if self.kind != "result":
            default = _TEXT_PARAMETERS
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=self.parameters or default,
        )

    def describe(self, args: Any) -> str:
        """Return what a person is asked for a call with these arguments."""
        fields = cast("JSONObject", args) if isinstance(args, dict) else {}
        question = fields.get("question")
        return question if isinstance(question, str) else self.description
