"""What can be known of a function that is to be a tool: its name, words and parameters."""

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
from headrace.tools.docstring import read_docstring

# What every provider takes as the name of a tool, and Anthropic as that of an argument.
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ARGUMENT_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
NOTHING: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """One that the model fills in. `default` is `NOTHING` where it must."""

    name: str
    type: Any
    default: Any
    description: str | None

    @property
    def is_required(self) -> bool:
        """Whether there must be an argument for it."""
        return self.default is NOTHING


class Function:
    """A function, a method, a partial or an object that can be called, looked at.

    Raises `UsageError` for one that cannot be a tool.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise UsageError(f"expected a function as a tool; got {function!r}")
        if inspect.isclass(function):
            raise UsageError(f"{function.__name__} is a class: a tool is a function or an object")
        self._core = _core(function)
        self.name = _name(function, self._core)
        if self.name == "<lambda>":
            raise UsageError("a lambda cannot be a tool: write a function, with a name and types")
        doc = inspect.getdoc(self._core if inspect.isroutine(_bare(function)) else function)
        docstring = read_docstring(doc or "")
        self.description = docstring.description
        self.is_async = _is_async(_bare(function))
        self.context_names: tuple[str, ...] = ()
        self.parameters = self._parameters(function, docstring.arguments)

    def _parameters(
        self, function: Callable[..., Any], descriptions: dict[str, str]
    ) -> tuple[Parameter, ...]:
        if inspect.isgeneratorfunction(self._core) or inspect.isasyncgenfunction(self._core):
            raise self._refused("it yields: return a value, and report with a ToolContext")
        hints = self._hints()
        filled = _filled(function)
        found: list[Parameter] = []
        for parameter in self._signature(function):
            kind = hints.get(parameter.name, Any)
            if parameter.name in filled:
                continue
            self._check(parameter)
            if _is_context(kind):
                self.context_names += (parameter.name,)
            else:
                found.append(_parameter(parameter, kind, descriptions.get(parameter.name)))
        return tuple(found)

    def _signature(self, function: Callable[..., Any]) -> list[inspect.Parameter]:
        try:
            return list(inspect.signature(function).parameters.values())
        except ValueError:
            raise self._refused("it has no signature: wrap it in a function") from None

    def _hints(self) -> dict[str, Any]:
        """The annotations, evaluated; that of the result is nobody's concern here."""
        written = dict(getattr(self._core, "__annotations__", {}))
        written.pop("return", None)
        holder: Any = SimpleNamespace(__annotations__=written)
        names = getattr(self._core, "__globals__", {})
        try:
            return get_type_hints(holder, globalns=names, include_extras=True)
        except (AttributeError, NameError, SyntaxError, TypeError) as error:
            raise self._refused(
                f"an annotation cannot be read: {error}; is it imported for type checkers only,"
                " or defined inside a function?"
            ) from None

    def _check(self, parameter: inspect.Parameter) -> None:
        if parameter.name == "self" and parameter.annotation is NOTHING:
            raise self._refused("it is a method without its object: give `object.method`")
        if parameter.kind not in _NAMED:
            raise self._refused(f"{parameter} has no name that a model could fill in")
        if not _ARGUMENT_NAME.fullmatch(parameter.name):
            raise self._refused(
                f"the argument {parameter.name!r} has a name that providers refuse:"
                " expected 1 to 64 of a-z, A-Z, 0-9, _"
            )

    def _refused(self, why: str) -> UsageError:
        return UsageError(f"{self.name} cannot be a tool: {why}")


def checked_name(name: str) -> str:
    """The name, where every provider takes it. Raises `UsageError` where not."""
    if not _TOOL_NAME.fullmatch(name):
        raise UsageError(
            f"a tool cannot be called {name!r}: expected 1 to 64 of a-z, A-Z, 0-9, _ and -"
        )
    return name


def _bare(function: Any) -> Any:
    """Without what partials have filled in."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return function


def _core(function: Any) -> Any:
    """The function that was written, below partials, wrappers and objects."""
    function = _bare(function)
    if not inspect.isroutine(function):
        function = type(function).__call__
    return inspect.unwrap(function)


def _is_async(bare: Any) -> bool:
    """Whether calling it gives a coroutine at once; what a wrapper gives is seen then."""
    return inspect.iscoroutinefunction(bare if inspect.isroutine(bare) else type(bare).__call__)


def _name(function: Any, core: Any) -> str:
    name = getattr(_bare(function), "__name__", None)
    if isinstance(name, str):
        return name
    if inspect.isroutine(_bare(function)):
        return str(core.__name__)
    return _HUMP.sub("_", type(_bare(function)).__name__).lower()


def _filled(function: Any) -> set[str]:
    """Names that partials have filled in. They are no argument of the model's: it could
    change them, and would be told their values as defaults."""
    filled: set[str] = set()
    while isinstance(function, functools.partial):
        filled |= function.keywords.keys()
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return filled


def _is_context(kind: Any) -> bool:
    """Also where it may be None, or has a remark."""
    if get_origin(kind) in (Union, UnionType, Annotated):
        return any(_is_context(inner) for inner in get_args(kind))
    return kind is ToolContext


def _parameter(parameter: inspect.Parameter, kind: Any, said: str | None) -> Parameter:
    kind = Any if kind is object else kind
    default = parameter.default
    if pydantic_type.is_field(default):
        kind, default = pydantic_type.unfolded(kind, default, NOTHING)
    return Parameter(parameter.name, kind, default, _annotated(kind) or said)


def _annotated(kind: Any) -> str | None:
    """The words in `Annotated[int, "words"]`, or in a `Doc("words")`."""
    for entry in getattr(kind, "__metadata__", ()):
        words = entry if isinstance(entry, str) else getattr(entry, "documentation", None)
        if isinstance(words, str):
            return words
    return None
