"""From a function's signature to a JSON schema, and from the model's JSON to arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

from headrace.engine.tools.context import ToolContext
from headrace.errors import UsageError
from headrace.events import JSONObject

_PARAGRAPH = re.compile(r"\n\s*\n")
_ARGUMENT = re.compile(r"^\s*(?::param\s+)?(?P<name>\w+)(?:\s*\([^)]*\))?\s*:\s*(?P<text>.+)$")


class ArgumentsInvalid(ValueError):
    """The model's arguments do not fit; the message is for the model."""


class Signature:
    """The parameters of a function that a model fills in."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        hints = _hints(function)
        self.context_name: str | None = None
        self._kinds: dict[str, Any] = {}
        self._defaults: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            self._add(parameter, hints.get(parameter.name, Any))

    def _add(self, parameter: inspect.Parameter, kind: Any) -> None:
        if kind is ToolContext:
            self.context_name = parameter.name
            return
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(
                f"{self._function.__name__} cannot be a tool: {parameter} has no name to fill in"
            )
        self._kinds[parameter.name] = kind
        if parameter.default is not parameter.empty:
            self._defaults[parameter.name] = parameter.default

    @property
    def parameters(self) -> JSONObject:
        """The JSON schema of the arguments, definitions included."""
        descriptions = _descriptions(self._function)
        properties: JSONObject = {}
        definitions: JSONObject = {}
        for name, kind in self._kinds.items():
            properties[name] = self._property(name, kind, definitions)
            if name in descriptions:
                properties[name] = {**properties[name], "description": descriptions[name]}
        schema: JSONObject = {"type": "object", "properties": properties}
        required = [name for name in self._kinds if name not in self._defaults]
        schema["required"] = required
        schema["additionalProperties"] = False
        return schema | ({"$defs": definitions} if definitions else {})

    def _property(self, name: str, kind: Any, definitions: JSONObject) -> JSONObject:
        if _is_pydantic(kind):
            made = kind.model_json_schema(ref_template="#/$defs/{model}")
            definitions.update(made.pop("$defs", {}))
            return made
        try:
            (made,), found = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
        except TypeError as error:
            raise UsageError(
                f"{self._function.__name__} cannot be a tool: {name}: {error}"
            ) from None
        definitions.update(found)
        if name in self._defaults:
            made = made | _default(self._defaults[name])
        return made

    def arguments(self, given: Any) -> dict[str, Any]:
        """Validated arguments. Raises `ArgumentsInvalid`, which says what is wrong."""
        if not isinstance(given, dict):
            raise ArgumentsInvalid("the arguments must be a JSON object")
        fields: dict[str, Any] = given
        unknown = sorted(fields.keys() - self._kinds.keys())
        missing = [n for n in self._kinds if n not in fields and n not in self._defaults]
        if unknown or missing:
            raise ArgumentsInvalid(_complaint(unknown, missing, list(self._kinds)))
        return {name: self._converted(name, value) for name, value in fields.items()}

    def _converted(self, name: str, value: Any) -> Any:
        kind = self._kinds[name]
        try:
            if _is_pydantic(kind):
                return kind.model_validate(value)
            return value if kind is Any else msgspec.convert(value, kind)
        except (msgspec.ValidationError, ValueError) as error:
            raise ArgumentsInvalid(f"{name}: {error}") from None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(f"{function.__name__} cannot be a tool: {error}") from None


def _is_pydantic(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "model_json_schema")


def _default(value: Any) -> JSONObject:
    try:
        return {"default": msgspec.to_builtins(value)}
    except TypeError:
        return {}


def _complaint(unknown: list[str], missing: list[str], known: list[str]) -> str:
    parts = []
    if missing:
        parts.append(f"missing: {', '.join(missing)}")
    if unknown:
        parts.append(f"unknown: {', '.join(unknown)}")
    return f"{'; '.join(parts)}; the arguments are: {', '.join(known) or 'none'}"


def description_of(function: Callable[..., Any]) -> str:
    """The docstring without what it says of single arguments."""
    doc = inspect.getdoc(function) or ""
    paragraphs = [part for part in _PARAGRAPH.split(doc) if not _is_about_arguments(part)]
    return "\n\n".join(part.strip() for part in paragraphs)


def _is_about_arguments(paragraph: str) -> bool:
    first = paragraph.strip().split("\n", 1)[0].strip().lower()
    return first in ("args:", "arguments:", "parameters:", "returns:", "raises:") or (
        first.startswith((":param", ":return"))
    )


def _descriptions(function: Callable[..., Any]) -> dict[str, str]:
    doc = inspect.getdoc(function) or ""
    found: dict[str, str] = {}
    for paragraph in _PARAGRAPH.split(doc):
        if _is_about_arguments(paragraph):
            for line in paragraph.split("\n"):
                match = _ARGUMENT.match(line)
                if match is not None:
                    found[match["name"]] = match["text"].strip()
    return found
