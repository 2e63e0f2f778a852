"""Arguments with pydantic types. pydantic is imported only if a tool uses such a type."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any, get_args

import msgspec

from headrace.events import JSONObject

_PACKAGES = frozenset({"pydantic", "pydantic_core", "annotated_types"})


def is_pydantic(kind: Any) -> bool:
    """Return whether the type is a pydantic type, or contains one."""
    if "pydantic" not in sys.modules:
        return False
    if isinstance(kind, type) and hasattr(kind, "__pydantic_core_schema__"):
        return True
    package = (kind if isinstance(kind, type) else type(kind)).__module__.partition(".")[0]
    return package in _PACKAGES or any(is_pydantic(inner) for inner in get_args(kind))


def is_field(default: Any) -> bool:
    """Return whether the default of a parameter is a `Field(…)`."""
    return type(default).__module__ == "pydantic.fields" and hasattr(default, "is_required")


def split_field(kind: Any, field: Any, nothing: Any) -> tuple[Any, Any]:
    """Return the type and the default of a parameter whose default is a `Field(…)`."""
    default = nothing if field.is_required() else field.get_default(call_default_factory=True)
    return Annotated[kind, field], default


class PydanticType:
    """The schema and the values of a type, by pydantic's rules: a text may stand for a number
    unless the model is strict."""

    def __init__(self, kind: Any) -> None:
        self._adapter: Any = import_module("pydantic").TypeAdapter(kind)

    def schema(self) -> tuple[JSONObject, JSONObject]:
        """Return the schema and the definitions that it refers to."""
        schema: JSONObject = self._adapter.json_schema(ref_template="#/$defs/{model}")
        definitions: JSONObject = schema.pop("$defs", {})
        return schema, definitions

    def convert(self, value: Any) -> Any:
        """Validate a value. Raises `ValueError` with a message for the model."""
        try:
            return self._adapter.validate_json(msgspec.json.encode(value))
        except ValueError as error:
            messages = _messages(error)
        # Raised outside the handler, so that pydantic's error, which repeats the input, is not
        # chained.
        raise ValueError("; ".join(messages))


def _messages(error: Any) -> list[str]:
    if not hasattr(error, "errors"):
        return [str(error)]
    entries = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        ": ".join(filter(None, (".".join(map(str, entry["loc"])), entry["msg"])))
        for entry in entries
    ]
