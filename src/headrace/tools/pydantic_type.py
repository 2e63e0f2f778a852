"""Types that belong to pydantic. It is imported only where a tool uses one of them: who has
such a type has pydantic."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any, get_args

import msgspec

from headrace.events import JSONObject

_THEIRS = frozenset({"pydantic", "pydantic_core", "annotated_types"})


def is_pydantic(kind: Any) -> bool:
    """Whether the type is pydantic's, or mentions one that is."""
    if "pydantic" not in sys.modules:
        return False
    if isinstance(kind, type) and hasattr(kind, "__pydantic_core_schema__"):
        return True
    home = (kind if isinstance(kind, type) else type(kind)).__module__.partition(".")[0]
    return home in _THEIRS or any(is_pydantic(inner) for inner in get_args(kind))


def is_field(default: Any) -> bool:
    """Whether a parameter's default is a `Field(…)`."""
    return type(default).__module__ == "pydantic.fields" and hasattr(default, "is_required")


def unfolded(kind: Any, field: Any, nothing: Any) -> tuple[Any, Any]:
    """A parameter's type and default, where `Field(…)` stands for the default."""
    default = nothing if field.is_required() else field.get_default(call_default_factory=True)
    return Annotated[kind, field], default


class PydanticType:
    """A type that pydantic reads: its schema, and its values. Its own rules hold, so a text
    may stand for a number unless the model is strict."""

    def __init__(self, kind: Any) -> None:
        self._adapter: Any = import_module("pydantic").TypeAdapter(kind)

    def schema(self) -> tuple[JSONObject, JSONObject]:
        """The schema, and the definitions that it refers to."""
        made: JSONObject = self._adapter.json_schema(ref_template="#/$defs/{model}")
        definitions: JSONObject = made.pop("$defs", {})
        return made, definitions

    def convert(self, value: Any) -> Any:
        """The value. Raises `ValueError`, told for a model."""
        try:
            return self._adapter.validate_json(msgspec.json.encode(value))
        except ValueError as error:
            complaints = _complaints(error)
        # Raised here, where the other is not at hand to be chained: it repeats the input.
        raise ValueError("; ".join(complaints))


def _complaints(error: Any) -> list[str]:
    """One by one, without the addresses of pydantic's pages."""
    if not hasattr(error, "errors"):
        return [str(error)]
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [": ".join(filter(None, (_path(one["loc"]), one["msg"]))) for one in found]


def _path(where: tuple[Any, ...]) -> str:
    return ".".join(map(str, where))
