"""Inspect a function that is to be a tool: its name, description and parameters."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from headrace.errors import UsageError
from headrace.tools import pydantic_type
from headrace.tools.context import ToolContext
from headrace.tools.docstring import parse_docstring

# The tool names that every provider accepts, and the argument names that Anthropic accepts.
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ARGUMENT_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
NOTHING: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """A parameter that the model fills in. `default` is `NOTHING` if it is required."""

    name: str
    type: Any
    default: Any
    description: str | None

    @property
    def is_required(self) -> bool:
        """Whether the model must give an argument for it."""
        return self.default is NOTHING


class Function:
    """The inspected form of a function, method, partial or callable object.

    Raises `UsageError` for one that cannot be a tool.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise UsageError(
                f"expected a function, a Tool or a ToolSpec as a tool; got {function!r}"
            )
        if inspect.isclass(function):
            raise UsageError(f"{function.__name__} is a class: a tool is a function or an object")
        bare = _without_partials(function)
        is_routine = inspect.isroutine(bare)
        written = bare if is_routine else type(bare).__call__
        # The written function beneath partials, wrappers and callable objects.
        self._core = inspect.unwrap(written)
        self.name = _name(bare, self._core)
        if self.name == "<lambda>":
            raise UsageError("a lambda cannot be a tool: write a function, with a name and types")
        docstring = parse_docstring(inspect.getdoc(self._core if is_routine else function) or "")
        self.description = docstring.description
        # What a wrapper that is not a coroutine function returns is seen only when it is called.
        self.is_async = inspect.iscoroutinefunction(written)
        self.context_names: tuple[str, ...] = ()
        self.parameters = self._parameters(function, docstring.arguments)

    def _parameters(
        self, function: Callable[..., Any], descriptions: dict[str, str]
    ) -> tuple[Parameter, ...]:
        if inspect.isgeneratorfunction(self._core) or inspect.isasyncgenfunction(self._core):
            raise self._error("it yields: return a value, and report with a ToolContext")
        hints = self._hints()
        given = _names_in_partials(function)
        parameters: list[Parameter] = []
        for parameter in self._signature(function):
            kind = hints.get(parameter.name, Any)
            if parameter.name in given:
                continue
            self._check(parameter)
            if _is_context(kind):
                self.context_names += (parameter.name,)
            else:
                parameters.append(_parameter(parameter, kind, descriptions.get(parameter.name)))
        return tuple(parameters)

    def _signature(self, function: Callable[..., Any]) -> list[inspect.Parameter]:
        try:
            return list(inspect.signature(function).parameters.values())
        except ValueError:
            raise self._error("it has no signature: wrap it in a function") from None

    def _hints(self) -> dict[str, Any]:
        """Evaluate the annotations of the parameters."""
        annotations = dict(getattr(self._core, "__annotations__", {}))
        annotations.pop("return", None)
        holder: Any = SimpleNamespace(__annotations__=annotations)
        names = getattr(self._core, "__globals__", {})
        try:
            return get_type_hints(holder, globalns=names, include_extras=True)
        except (AttributeError, NameError, SyntaxError, TypeError) as error:
            raise self._error(
                f"an annotation cannot be read: {error}; is it imported for type checkers only,"
                " or defined inside a function?"
            ) from None

    def _check(self, parameter: inspect.Parameter) -> None:
        if parameter.name == "self" and parameter.annotation is NOTHING:
            raise self._error("it is a method without its object: give `object.method`")
        if parameter.kind not in _NAMED:
            raise self._error(f"{parameter} has no name that a model could fill in")
        if not _ARGUMENT_NAME.fullmatch(parameter.name):
            raise self._error(
                f"the argument {parameter.name!r} has a name that providers refuse:"
                " expected 1 to 64 of a-z, A-Z, 0-9, _"
            )

    def _error(self, why: str) -> UsageError:
        return UsageError(f"{self.name} cannot be a tool: {why}")


def check_name(name: str) -> str:
    """Return the name if every provider accepts it. Raises `UsageError` otherwise."""
    if not _TOOL_NAME.fullmatch(name):
        raise UsageError(
            f"a tool cannot be called {name!r}: expected 1 to 64 of a-z, A-Z, 0-9, _ and -"
        )
    return name


def _without_partials(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return function


def _name(bare: Any, core: Any) -> str:
    name = getattr(bare, "__name__", None)
    if isinstance(name, str):
        return name
    if inspect.isroutine(bare):
        return str(core.__name__)
    return _CAMEL_CASE.sub("_", type(bare).__name__).lower()


def _names_in_partials(function: Any) -> set[str]:
    """Return the names that partials fill in. They are hidden from the model, which could
    change them otherwise and would see their values as defaults."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names |= function.keywords.keys()
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return names


def _is_context(kind: Any) -> bool:
    """Return whether it is `ToolContext`, also as an optional or annotated type."""
    if get_origin(kind) in (Union, UnionType, Annotated):
        return any(_is_context(inner) for inner in get_args(kind))
    return kind is ToolContext


def _parameter(parameter: inspect.Parameter, kind: Any, description: str | None) -> Parameter:
    kind = Any if kind is object else kind
    default = parameter.default
    if pydantic_type.is_field(default):
        kind, default = pydantic_type.split_field(kind, default, NOTHING)
    return Parameter(parameter.name, kind, default, _annotated_description(kind) or description)


def _annotated_description(kind: Any) -> str | None:
    """Return the text in `Annotated[int, "text"]` or in `Doc("text")`."""
    for entry in getattr(kind, "__metadata__", ()):
        text = entry if isinstance(entry, str) else getattr(entry, "documentation", None)
        if isinstance(text, str):
            return text
    return None
