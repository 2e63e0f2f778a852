"""A struct as a section of a page: its name, its tag, what it is, and its fields as a table."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable
from typing import Any

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
                docs.get(field.name) or _meaning(kind, field.name),
            )
            for field in fields
        ]
        lines += [table(("field", "type", "default", ""), rows)]
    return "\n".join([*lines, *_members(kind)])


def _meaning(kind: type, field: str) -> str:
    own = meaning.OWN_FIELDS.get(f"{kind.__name__}.{field}")
    return own or meaning.FIELDS.get(field, "")


def interface(kind: type, *, level: int = 3, is_made: bool = True) -> str:
    """A class that is no struct: how it is made, what it is, and its public members.
    `is_made` where it is the reader who makes it."""
    head = f"{'#' * level} {kind.__name__}\n"
    made = [_signature(kind)] if is_made else []
    return "\n".join([head, *made, prose(kind), "", *_members(kind)])


def function(made: Any, *, level: int = 3) -> str:
    """A function: its name, its arguments, and what it does."""
    return f"{'#' * level} {made.__name__}\n\n{_signature(made)}\n{prose(made)}\n"


def _signature(thing: Any) -> str:
    """The arguments, one a line: name, type and default as they are written."""
    name, parameters = thing.__name__, list(inspect.signature(thing).parameters.values())
    lines, is_keyword = [], False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            lines.append("    *,")
        lines.append(f"    {_argument(parameter)},")
    inner = "\n".join(["", *lines, ""]) if lines else ""
    return f"```text\n{name}({inner})\n```\n"


def _argument(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    told = f"{stars}{parameter.name}: {parameter.annotation}"
    if parameter.default is parameter.empty:
        return told
    return f"{told} = {_shown(parameter.default)}"


def _shown(value: object) -> str:
    """A default without what changes from run to run."""
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}()"
    if callable(value):
        return str(getattr(value, "__qualname__", "…"))
    return written(value)


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
