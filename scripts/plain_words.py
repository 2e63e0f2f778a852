"""Check that the package is written in plain words: `python scripts/plain_words.py src/headrace`.

Fails if functions are named by a bare participle (`_opened`, `told`), if a docstring cannot be
read on its own ("The same for ..."), if a function is longer than 60 lines, or if one folder
holds more than 15 modules. Part of `make check`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_PARTICIPLE_SHARE = 0.01
MAX_FUNCTION_LINES = 60
MAX_FOLDER_MODULES = 15

_IRREGULAR_PARTICIPLES = frozenset(
    "begun done drawn found given gone heard held kept known left made met said sent shown spent"
    " spoken taken told written".split()
)
_NOT_PARTICIPLES = frozenset("embed exceed feed need proceed seed speed".split())
_DEPENDENT_OPENING = re.compile(r"(The same\b|As `|Likewise\b|So too\b|Ditto\b)")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main(root: Path) -> int:
    """Print every violation below `root`; return the exit code."""
    modules = {path: ast.parse(path.read_text("utf-8")) for path in sorted(root.rglob("*.py"))}
    functions = [(path, node) for path, tree in modules.items() for node in _functions(tree)]
    participles = [(path, node) for path, node in functions if _is_participle_name(node)]
    share = len(participles) / max(1, len(functions))
    problems = list(_find_problems(root, modules, functions))
    if share > MAX_PARTICIPLE_SHARE:
        problems += [f"{path}:{one.lineno}: name a verb: {one.name}" for path, one in participles]
    for problem in problems:
        print(problem)
    print(f"plain words: {len(functions)} functions, {share:.1%} named by a participle")
    return 1 if problems else 0


def _find_problems(
    root: Path, modules: dict[Path, ast.Module], functions: list[tuple[Path, Function]]
) -> Iterator[str]:
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | Function):
                doc = ast.get_docstring(node) or ""
                if _DEPENDENT_OPENING.match(doc):
                    yield f"{path}: docstring does not stand alone: {doc.splitlines()[0]}"
    for path, node in functions:
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > MAX_FUNCTION_LINES:
            yield f"{path}:{node.lineno}: {node.name} has {lines} lines, over {MAX_FUNCTION_LINES}"
    for folder in {path.parent for path in modules}:
        count = sum(path.parent == folder and path.name != "__init__.py" for path in modules)
        if count > MAX_FOLDER_MODULES:
            yield f"{folder}: {count} modules side by side, over {MAX_FOLDER_MODULES}"


def _functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _is_participle_name(node: Function) -> bool:
    decorators = {getattr(mark, "id", getattr(mark, "attr", "")) for mark in node.decorator_list}
    if node.name.startswith("__") or decorators & {"property", "cached_property"}:
        return False
    word = node.name.strip("_")
    is_regular = re.fullmatch(r"[a-z]{2,}ed", word) and word not in _NOT_PARTICIPLES
    return word in _IRREGULAR_PARTICIPLES or bool(is_regular)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
