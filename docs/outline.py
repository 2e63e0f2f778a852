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
                docs.get(field.name) or meaning.FIELDS.get(field.name, ""),
            )
            for field in fields
        ]
        lines += [table(("field", "type", "default", ""), rows)]
    return "\n".join([*lines, *_members(kind)])


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
        if isinstance(member, property) and not name.startswith("_"):
            lines.append(f"- `.{name}`: {one_line(member.fget)}")
        elif inspect.isfunction(member) and not name.startswith("_"):
            lines.append(f"- `.{name}(…)`: {one_line(member)}")
        elif name == "__add__":
            lines.append(f"- `a + b`: {one_line(member)}")
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
