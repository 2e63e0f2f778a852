"""Requests for input as forms that MCP clients show, and the answers to them."""

from __future__ import annotations

from typing import Any, Final

import mcp_types as types
import msgspec

from headrace.events import InputRequested, JSONObject
from headrace.tools import InputDenied
from headrace.typed.output_type import Mismatch, OutputType
from headrace.wire.json.value import as_object

_ANSWER: Final = "answer"
_APPROVE: Final = "approve"
_MAX_CALL_CHARS: Final = 2_000
_MAX_ANSWER_BYTES: Final = 65_536


class Form:
    """A question as a form. MCP clients show objects only, so any other value becomes the field
    `answer` of one."""

    def __init__(self, message: str, schema: JSONObject | None) -> None:
        self.message = message
        self._schema: JSONObject = {"type": "string"} if schema is None else schema
        self._is_wrapped = self._schema.get("type") != "object"

    @property
    def request(self) -> types.ElicitRequest:
        """The form, for the client."""
        schema = self._schema
        if self._is_wrapped:
            schema = {"type": "object", "properties": {_ANSWER: schema}, "required": [_ANSWER]}
        params = types.ElicitRequestFormParams(message=self.message, requested_schema=schema)
        return types.ElicitRequest(params=params)

    def read(self, result: types.ElicitResult) -> Any:
        """Return the answer. Raises `InputDenied` if the user has refused, and `Mismatch` if the
        answer does not fit."""
        if result.action != "accept":
            raise InputDenied(f"the user answered with {result.action}")
        content: Any = result.content or {}
        value = content.get(_ANSWER) if self._is_wrapped else content
        if self._schema == {"type": "string"} and not isinstance(value, str):
            raise Mismatch("expected a text")
        if len(msgspec.json.encode(value)) > _MAX_ANSWER_BYTES:
            raise InputDenied(f"the answer has more than {_MAX_ANSWER_BYTES} bytes")
        OutputType(self._schema).convert(value)
        return value


def create_approval(message: str, name: str, args: Any) -> Form:
    """Return the form that asks for the approval of a call."""
    call = f"{name} {msgspec.json.encode(args).decode()}"
    if len(call) > _MAX_CALL_CHARS:
        call = f"{call[:_MAX_CALL_CHARS]} … [cut: the call has {len(call):,} characters]"
    text = "\n".join(filter(None, (message, f"Allow this call? {call}")))
    field = {"type": "boolean", "title": "Allow this call"}
    return Form(text, {"type": "object", "properties": {_APPROVE: field}, "required": [_APPROVE]})


def is_approved(value: Any) -> bool:
    """Return whether the answer to an approval is a yes."""
    return as_object(value).get(_APPROVE) is True


def create_form(event: InputRequested) -> Form:
    """Return the form for a request of a run. Raises `InputDenied` for one that only a program can
    answer."""
    match event.kind:
        case "approval":
            return create_approval(event.message or "", event.name or "", event.args)
        case "form" | "text":
            return Form(event.message or "", event.schema)
        case _:
            raise InputDenied(f"an MCP client cannot answer a request of the kind {event.kind}")
