"""Markdown for structs, classes and functions, read from their source and docstrings."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, TypeGuard

import msgspec

from docs import meaning
from docs.syntax_tree import parse_source


def struct(kind: type[msgspec.Struct], *, level: int = 3) -> str:
    """Return the section of a struct: name, JSON tag, docstring, fields, members."""
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
    """Return the section of another class: signature, docstring and public members.

    `is_made` is whether users create instances, so that the signature matters.
    """
    head = f"{'#' * level} {kind.__name__}\n"
    signature = [_signature(kind)] if is_made else []
    members = [*_attributes(kind), *_members(kind)]
    return "\n".join([head, *signature, prose(kind), "", *members])


def function(subject: Any, *, level: int = 3) -> str:
    """Return the section of a function: signature and docstring."""
    return f"{'#' * level} {subject.__name__}\n\n{_signature(subject)}\n{prose(subject)}\n"


def _signature(thing: Any) -> str:
    """Return the signature with one parameter per line, with types as in the source."""
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
    text = f"{stars}{parameter.name}: {parameter.annotation}"
    if parameter.default is parameter.empty:
        return text
    return f"{text} = {_format_default(parameter.default, module)}"


def _format_default(value: Any, module: str) -> str:
    """Return a default without memory addresses."""
    if value and _is_tuple(value):
        return next(name for name, known in vars(sys.modules[module]).items() if known is value)
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}()"
    if callable(value):
        return str(getattr(value, "__qualname__", "…"))
    return literal(value)


def _is_tuple(value: object) -> bool:
    return isinstance(value, tuple)


def prose(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def field_types(kind: type) -> dict[str, str]:
    """Return the annotations of a struct as in the source, base classes first."""
    types: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, msgspec.Struct) and base is not msgspec.Struct:
            types |= {name: str(text) for name, text in base.__annotations__.items()}
    return types


def field_docs(kind: type) -> dict[str, str]:
    """Return the docstrings of fields, which only the source has."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("headrace."):
            continue
        body = parse_source(inspect.getsource(base)).body[0]
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
    return f"`{literal(field.default)}`"


def literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _attributes(kind: type) -> list[str]:
    """Return the attributes that `__init__` sets and documents."""
    if "__init__" not in vars(kind) or not kind.__module__.startswith("headrace."):
        return []
    init = parse_source(inspect.getsource(vars(kind)["__init__"])).body[0]
    assert isinstance(init, ast.FunctionDef)
    lines: list[str] = []
    for line, doc in zip(init.body, init.body[1:], strict=False):
        if isinstance(line, ast.Assign | ast.AnnAssign) and _is_text(doc):
            target = line.targets[0] if isinstance(line, ast.Assign) else line.target
            name, text = ast.unparse(target).removeprefix("self."), ast.literal_eval(doc.value)
            lines += [] if name.startswith("_") else [f"- `.{name}`: {' '.join(text.split())}"]
    return lines


def _is_text(node: ast.stmt) -> TypeGuard[ast.Expr]:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _members(kind: type) -> list[str]:
    """Return the public properties and methods."""
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
