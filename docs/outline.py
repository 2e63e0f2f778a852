"""A struct as a section of a page: its name, its tag, what it is, and its fields as a table."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, TypeGuard

import msgspec

from docs import meaning


def struct(kind: type[msgspec.Struct], *, level: int = 3) -> str:
    """One struct: its name, its tag where it has one, what it is, its fields."""
    tag = kind.__struct_config__.tag
    lines = [f"{'#' * level} {kind.__name__}", ""]
    if tag is not None:
        lines += [f"JSON tag: `{tag}`", ""]
    lines += [prose(kind), ""]
    fields = msgspec.structs.fields(kind)
    docs, types = field_docs(kind), field_types(kind)
    if fields:
        rows = [
            (
                f"`{field.name}`",
                f"`{types[field.name]}`",
                default(field),
                docs.get(field.name) or meaning.FIELDS.get(field.name, ""),
            )
            for field in fields
        ]
        lines += [table(("field", "type", "default", ""), rows)]
    return "\n".join([*lines, *_members(kind)])


def interface(kind: type, *, level: int = 3, is_made: bool = True) -> str:
    """A class that is no struct: how it is made, what it is, and its public members.
    `is_made` where it is the reader who makes it."""
    head = f"{'#' * level} {kind.__name__}\n"
    made = [_signature(kind)] if is_made else []
    members = [*_attributes(kind), *_members(kind)]
    return "\n".join([head, *made, prose(kind), "", *members])


def function(made: Any, *, level: int = 3) -> str:
    """A function: its name, its arguments, and what it does."""
    return f"{'#' * level} {made.__name__}\n\n{_signature(made)}\n{prose(made)}\n"


def _signature(thing: Any) -> str:
    """The arguments, one a line: name, type and default as they are written."""
    name, parameters = thing.__name__, list(inspect.signature(thing).parameters.values())
    lines: list[str] = []
    is_keyword = False
    for parameter, after in zip_longest(parameters, parameters[1:]):
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            lines.append("    *,")
        is_keyword = parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        lines.append(f"    {_argument(parameter, thing.__module__)},")
        if parameter.kind is parameter.POSITIONAL_ONLY and not _is_positional(after):
            lines.append("    /,")
    inner = "\n".join(["", *lines, ""]) if lines else ""
    return f"```text\n{name}({inner})\n```\n"


def _is_positional(parameter: inspect.Parameter | None) -> bool:
    return parameter is not None and parameter.kind is parameter.POSITIONAL_ONLY


def _argument(parameter: inspect.Parameter, module: str) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else stars
    told = f"{stars}{parameter.name}: {parameter.annotation}"
    if parameter.default is parameter.empty:
        return told
    return f"{told} = {_shown(parameter.default, module)}"


def _shown(value: Any, module: str) -> str:
    """A default without what changes from run to run."""
    if value and _is_tuple(value):
        return next(name for name, known in vars(sys.modules[module]).items() if known is value)
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}()"
    if callable(value):
        return str(getattr(value, "__qualname__", "…"))
    return written(value)


def _is_tuple(value: object) -> bool:
    return isinstance(value, tuple)


def prose(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def field_types(kind: type) -> dict[str, str]:
    """The annotations as they are written, base classes first."""
    types: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, msgspec.Struct) and base is not msgspec.Struct:
            types |= {name: str(text) for name, text in base.__annotations__.items()}
    return types


def field_docs(kind: type) -> dict[str, str]:
    """The string that stands below a field; Python does not keep it, its source does."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("headrace."):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, doc in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(doc, ast.Expr):
                assert isinstance(field.target, ast.Name)
                assert isinstance(doc.value, ast.Constant)
                docs[field.target.id] = " ".join(str(doc.value.value).split())
    return docs


def default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    if field.default is msgspec.NODEFAULT:
        return f"`{field.default_factory()!r}`"
    if isinstance(field.default, msgspec.Struct):
        return f"`{type(field.default).__name__}()`"
    return f"`{written(field.default)}`"


def written(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _attributes(kind: type) -> list[str]:
    """What `__init__` sets, where a string below says what it is."""
    if "__init__" not in vars(kind) or not kind.__module__.startswith("headrace."):
        return []
    made = ast.parse(textwrap.dedent(inspect.getsource(vars(kind)["__init__"]))).body[0]
    assert isinstance(made, ast.FunctionDef)
    lines: list[str] = []
    for one, doc in zip(made.body, made.body[1:], strict=False):
        if isinstance(one, ast.Assign | ast.AnnAssign) and _is_text(doc):
            target = one.targets[0] if isinstance(one, ast.Assign) else one.target
            name, told = ast.unparse(target).removeprefix("self."), ast.literal_eval(doc.value)
            lines += [] if name.startswith("_") else [f"- `.{name}`: {' '.join(told.split())}"]
    return lines


def _is_text(node: ast.stmt) -> TypeGuard[ast.Expr]:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _members(kind: type) -> list[str]:
    """Properties and methods that are told about."""
    lines: list[str] = []
    for name, member in vars(kind).items():
        if name == "__add__":
            lines.append(f"- `a + b`: {one_line(member)}")
        elif name.startswith("_"):
            continue
        elif isinstance(member, property):
            lines.append(f"- `.{name}`: {one_line(member.fget)}")
        elif isinstance(member, classmethod) or inspect.isfunction(member):
            lines.append(f"- `.{name}(…)`: {one_line(member)}")
    return [*lines, ""] if lines else []


def one_line(thing: Any) -> str:
    return " ".join(prose(thing).split())


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [_cells(heads), _cells("---" for _ in heads)]
    lines += [_cells(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


def _cells(cells: Iterable[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"
