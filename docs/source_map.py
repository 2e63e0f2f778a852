"""The map of the source tree: every module with the first sentence of its docstring."""

from __future__ import annotations

import ast
from pathlib import Path

import headrace
from docs.outline import table
from docs.syntax_tree import parse_source

_PACKAGE = Path(headrace.__file__).resolve().parent
_HEAD = """\
Every module of `src/headrace`, with the first sentence of its docstring. Each folder may import
only the folders below it in [the layers](topics/design.md#layers).
"""


def page_parts() -> list[str]:
    """Return the text of the page: one table per top-level folder."""
    modules = [path for path in sorted(_PACKAGE.rglob("*.py")) if "static" not in path.parts]
    groups: dict[str, list[Path]] = {}
    for path in modules:
        relative = path.relative_to(_PACKAGE)
        groups.setdefault(relative.parts[0] if len(relative.parts) > 1 else "", []).append(path)
    parts = [_HEAD]
    for folder, paths in groups.items():
        parts += [f"## {folder}/" if folder else "## Top level", _rows_of(paths)]
    return parts


def first_sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring on one line, or an empty string."""
    docstring = ast.get_docstring(parse_source(path.read_text("utf-8"))) or ""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return sentence + "." if stop else paragraph


def _rows_of(paths: list[Path]) -> str:
    rows = []
    for path in paths:
        name = path.relative_to(_PACKAGE)
        is_package = path.name == "__init__.py" and len(name.parts) > 1
        rows.append((f"`{name.parent}/`" if is_package else f"`{name}`", first_sentence(path)))
    return table(("module", "what is in it"), rows)
