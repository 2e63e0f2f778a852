"""`OutputPlan`: how a typed answer is asked for from one model, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from headrace.encoders import OutputSchema, Request, ToolSpec
from headrace.encoders.model_family import is_generation_at_least, parse_family
from headrace.encoders.text_content import encode_json
from headrace.errors import UsageError
from headrace.messages import CallPart, Turn
from headrace.providers import OutputMode, Provider
from headrace.typed.json_schema import is_recursive
from headrace.typed.output_type import Mismatch, OutputType

ANSWER_TOOL = "final_answer"
"""Name of the tool with which a model gives its answer in the mode `tool`."""
DEFAULT_RETRIES = 2

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs
_CLAUDE_SINCE = (4, 5)
# Before this generation, Gemini takes a schema or tools, not both.
_GEMINI_WITH_TOOLS_SINCE = (3, 0)
_TOOL_DESCRIPTION = "Give your final answer to the user. Call this once, when you are done."
_TOOL_PROMPT = (
    f"When you are done, give your answer by calling the tool {ANSWER_TOOL}. Do not write it as"
    " text."
)
_PROMPT = (
    "Give your final answer as one JSON value that matches this JSON schema, without any other text"
    " and without a code block:\n"
)


@dataclass(frozen=True)
class OutputPlan:
    """The type of an answer, and the mode in which a model is asked for it."""

    type: OutputType
    mode: OutputMode
    retries: int = DEFAULT_RETRIES
    """How often the model is told what is wrong with its answer."""
    forces_tools: bool = True
    """Whether the request may force the model to call a tool."""

    def apply(self, request: Request) -> Request:
        """Return the request with everything that asks for the typed answer."""
        change = msgspec.structs.replace
        if self.mode == "native":
            strict = self.type.strict_schema
            schema = OutputSchema(
                schema=strict or self.type.schema,
                name=self.type.name,
                is_strict=strict is not None,
            )
            return change(request, options=change(request.options, output=schema))
        if self.mode == "tool":
            return self._add_tool(request)
        prompt = _PROMPT + encode_json(self.type.schema)
        return change(request, instructions=_join(request.instructions, prompt))

    def _add_tool(self, request: Request) -> Request:
        change = msgspec.structs.replace
        if any(tool.name == ANSWER_TOOL for tool in request.tools):
            raise UsageError(
                f"a tool is called {ANSWER_TOOL}, which is the name of the tool for typed answers:"
                " rename it"
            )
        answer = ToolSpec(
            name=ANSWER_TOOL, description=_TOOL_DESCRIPTION, parameters=self.type.schema
        )
        changed = change(request, tools=(*request.tools, answer))
        if self.forces_tools and request.options.tool_choice is None:
            choice = "required" if request.tools else ANSWER_TOOL
            return change(changed, options=change(request.options, tool_choice=choice))
        return change(changed, instructions=_join(request.instructions, _TOOL_PROMPT))

    def find_call(self, turn: Turn) -> CallPart | None:
        """Return the call with which the turn gives its answer, or None."""
        if self.mode != "tool":
            return None
        return next((call for call in turn.calls if call.name == ANSWER_TOOL), None)

    def read(self, turn: Turn) -> Any:
        """Return the JSON value of the turn's answer, if it is of the type. Raises `Mismatch`."""
        call = self.find_call(turn)
        if call is not None and call.error is not None:
            raise Mismatch(f"the arguments of {ANSWER_TOOL} are not valid JSON: {call.error}")
        value = self.type.parse(turn.text) if call is None else call.args
        value = self.type.unwrap(value)
        self.type.convert(value)
        return value

    def correct(self, problem: str) -> str:
        """Return the message that asks the model for a better answer."""
        how = f"Call {ANSWER_TOOL}" if self.mode == "tool" else "Answer"
        return (
            f"This is not the answer that was asked for: {problem}\n"
            f"{how} again, with the whole answer corrected."
        )


def plan_output(
    kind: Any,
    provider: Provider,
    request: Request,
    *,
    mode: OutputMode | None = None,
    retries: int = DEFAULT_RETRIES,
) -> OutputPlan:
    """Decide how the model of a request is asked for an answer of a type. `mode` overrides the
    catalog. Raises `UsageError` for a type without a JSON schema."""
    if retries < 0:
        raise UsageError(f"output_retries must not be negative; got {retries}")
    output_type = kind if isinstance(kind, OutputType) else OutputType(kind)
    forces_tools = provider.forces_tools
    if provider.dialect == "anthropic":
        # Claude refuses a forced call while it thinks.
        forces_tools = request.options.effort in (None, "none")
    chosen = mode or _choose_mode(output_type, provider, request.model, bool(request.tools))
    return OutputPlan(output_type, chosen, retries, forces_tools)


def _choose_mode(kind: OutputType, provider: Provider, model: str, has_tools: bool) -> OutputMode:
    mode = provider.output_mode
    if has_tools and provider.output_mode_with_tools is not None:
        mode = provider.output_mode_with_tools
    if mode != "native":
        return mode
    if provider.dialect == "anthropic":
        is_old = parse_family(model) == "claude" and not is_generation_at_least(
            model, _CLAUDE_SINCE
        )
        is_open = kind.strict_schema is None or is_recursive(kind.schema)
        return "tool" if is_old or is_open else "native"
    if provider.dialect in ("gemini", "interactions") and has_tools:
        has_both = is_generation_at_least(model, _GEMINI_WITH_TOOLS_SINCE)
        return "native" if has_both else "tool"
    return mode


def _join(instructions: str | None, more: str) -> str:
    return f"{instructions}\n\n{more}" if instructions else more
