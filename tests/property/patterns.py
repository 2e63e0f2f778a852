"""Every regular expression of the source tree, with inputs that are hard for it.

Run as a program, it measures them: one line of JSON for each pattern and method.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast

import headrace
from docs.syntax_tree import parse_source

ROOT = Path(headrace.__file__).parent
parser: Any = importlib.import_module("re._parser")
_METHODS = frozenset(
    {"match", "search", "fullmatch", "sub", "subn", "findall", "finditer", "split"}
)
_CATEGORIES = {
    "CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a",
    "CATEGORY_NOT_DIGIT": "a", "CATEGORY_NOT_SPACE": "a", "CATEGORY_NOT_WORD": "-",
}  # fmt: skip
_MAX_CHARS = 60
_MAX_PAIRED = 6
_SIZE = 10_000
# Times below this are not compared: they are too short to be measured well.
_FLOOR_S = 0.02
# Far more than any of them takes; one that takes longer is not linear.
_LIMIT_S = 8.0
# Twice the input takes twice the time; four times means that it is quadratic.
MAX_RATIO = 3.0

# Modules whose patterns get only short texts, however long the input is, and how short.
BOUNDED = {
    "headrace.status.languages.": 400,  # a sentence: `headrace.status.sentence.MAX_CHARS`, twice
    "headrace.status.phrase": 400,
    "headrace.status.reasoning_reader": 400,
    "headrace.status.tool_phrase": 128,  # the name of a tool
    "headrace.status.tool_kind": 128,
    "headrace.cli.commands.chat.answer_state": 100,  # the type of a frame
    "headrace.tools.docstring": 200,  # a line of the developer's own docstring
    "headrace.encoders.model_family": 200,  # the name of a model, from the operator
}


class Use(NamedTuple):
    """A pattern, and a method that is called on it."""

    where: str
    pattern: re.Pattern[Any]
    method: str


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT.parent).with_suffix("")
        if "static" not in relative.parts and relative.name != "__main__":
            name = ".".join(relative.parts).removesuffix(".__init__")
            yield name, parse_source(path.read_text("utf-8"))


def find_uses() -> tuple[list[Use], list[str]]:
    """Return all uses, and the places of patterns that cannot be evaluated."""
    trees = dict(modules())
    methods = _methods_by_name(trees.values())
    uses: dict[tuple[Any, str], Use] = {}
    unknown: list[str] = []
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if not _is_call_of_re(node):
                continue
            assert isinstance(node, ast.Call)
            assert isinstance(node.func, ast.Attribute)
            place = f"{name}:{node.lineno}"
            pattern = _evaluate(name, node)
            if pattern is None:
                unknown.append(place)
                continue
            is_compiled = node.func.attr == "compile"
            called = _methods_of(tree, node, methods) if is_compiled else {node.func.attr}
            for method in called or {"search"}:
                uses[pattern.pattern, method] = Use(place, pattern, method)
    for name in trees:
        for pattern in _patterns_in(list(vars(importlib.import_module(name)).values()), set()):
            if not any((pattern.pattern, method) in uses for method in _METHODS):
                uses[pattern.pattern, "search"] = Use(name, pattern, "search")
    return list(uses.values()), unknown


def _patterns_in(values: Iterable[Any], seen: set[int]) -> Iterator[re.Pattern[Any]]:
    """Yield the compiled patterns inside of constants, also those that a function has compiled."""
    for value in values:
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, re.Pattern):
            yield value
        elif isinstance(value, dict):
            yield from _patterns_in(value.values(), seen)
        elif isinstance(value, list | tuple | set | frozenset):
            yield from _patterns_in(cast("Iterable[Any]", value), seen)
        elif type(value).__module__.startswith("headrace.") and hasattr(value, "__dict__"):
            fields = cast("dict[str, Any]", vars(value))
            yield from _patterns_in(fields.values(), seen)


def _methods_by_name(trees: Any) -> defaultdict[str, set[str]]:
    """Which methods are called on, or taken from, a name anywhere in the tree."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                owner = node.value
                if isinstance(owner, ast.Name):
                    found[owner.id].add(node.attr)
                elif isinstance(owner, ast.Attribute):
                    found[owner.attr].add(node.attr)
    return found


def _is_call_of_re(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner, name = node.func.value, node.func.attr
    return isinstance(owner, ast.Name) and owner.id == "re" and name in {*_METHODS, "compile"}


def _methods_of(tree: ast.Module, call: ast.Call, methods: defaultdict[str, set[str]]) -> set[str]:
    """Return the methods that are called on the result of `re.compile()`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.value is call:
            return {node.attr}  # `_find = re.compile(…).search`
        if isinstance(node, ast.keyword) and node.value is call and node.arg is not None:
            return methods[node.arg]
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is call:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                return methods[target.id]
            if isinstance(target, ast.Attribute):
                return methods[target.attr]
    return set()


def _evaluate(module: str, call: ast.Call) -> re.Pattern[Any] | None:
    """Return the pattern of a call of `re.compile()` or `re.sub()`."""
    names = vars(importlib.import_module(module))
    assert isinstance(call.func, ast.Attribute)
    position = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)
    flags = [word.value for word in call.keywords if word.arg == "flags"] + call.args[position:]
    try:
        pattern = eval(compile(ast.Expression(call.args[0]), module, "eval"), names)
        flag = eval(compile(ast.Expression(flags[0]), module, "eval"), names) if flags else 0
    except NameError:
        return None
    return re.compile(pattern, flag)


# --- inputs -----------------------------------------------------------------------------


def hard_inputs(pattern: re.Pattern[Any], size: int) -> Iterator[str]:
    """Texts of about this length, made of what the pattern contains."""
    chars = _characters(pattern)
    prefix = _literal_prefix(pattern)
    for char in chars:
        for end in ("", "\0", "\n"):
            yield char * size + end
            yield prefix + char * size + end
    for one, two in product(chars[-_MAX_PAIRED:], chars[-_MAX_PAIRED:]):
        if one != two:
            yield (one + two) * (size // 2) + "\0"
            yield one * (size // 2) + two * (size // 2) + "\0"
            yield (one + two * 50) * (size // 51)
    if prefix:
        for char in ("", *chars):
            yield (prefix + char) * (size // (len(prefix) + len(char)))


def _characters(pattern: re.Pattern[Any]) -> list[str]:
    found = dict.fromkeys(_leaves(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)))
    # The last ones are also used in pairs: the first of a pattern, which are read most often.
    return [*list(found)[:_MAX_CHARS][::-1], "x"]


def _leaves(tree: Any) -> Iterator[str]:
    """Yield a character for each literal, range and category of a parsed pattern."""
    if not isinstance(tree, tuple | list | parser.SubPattern):
        return
    entries = cast("list[Any]", tree)
    if isinstance(tree, tuple) and len(entries) == 2 and str(entries[0]) in _CHARACTER_OF:
        yield _CHARACTER_OF[str(entries[0])](entries[1])
        return
    for entry in entries:
        yield from _leaves(entry)


_CHARACTER_OF: dict[str, Callable[[Any], str]] = {
    "LITERAL": chr,
    "NOT_LITERAL": chr,
    "RANGE": lambda ends: chr(ends[0]),
    "CATEGORY": lambda name: _CATEGORIES.get(str(name), "a"),
    "ANY": lambda _: "x",
}


def _literal_prefix(pattern: re.Pattern[Any]) -> str:
    prefix = ""
    for operation, argument in parser.parse(pattern.pattern, pattern.flags):
        if str(operation) != "LITERAL":
            break
        prefix += chr(argument)
    return prefix


# --- measuring --------------------------------------------------------------------------


class TooSlow(Exception):
    """An input took more time than any linear pattern needs."""


def measure(use: Use, text: str) -> float:
    """Return the CPU time of one call."""
    call: Callable[..., Any] = getattr(use.pattern, use.method)
    data: Any = text if isinstance(use.pattern.pattern, str) else text.encode()
    arguments = (data[:0], data) if use.method in ("sub", "subn") else (data,)
    signal.setitimer(signal.ITIMER_PROF, _LIMIT_S)
    began = time.process_time()
    result = call(*arguments)
    if use.method == "finditer":
        for _ in result:
            pass
    took = time.process_time() - began
    signal.setitimer(signal.ITIMER_PROF, 0)
    return took


def find_worst(use: Use) -> tuple[float, str]:
    """Return by how much twice the input takes longer, and the start of that input."""
    worst, worst_text = 0.0, ""
    size = next((n // 2 for place, n in BOUNDED.items() if use.where.startswith(place)), _SIZE)
    pairs = zip(hard_inputs(use.pattern, size), hard_inputs(use.pattern, 2 * size), strict=True)
    for short, long in pairs:
        try:
            if measure(use, short) < _FLOOR_S:
                continue
            # The least of several: a busy machine only adds to the time.
            short_s = min(measure(use, short) for _ in range(3))
            ratio = min(measure(use, long) for _ in range(3)) / short_s
        except TooSlow:
            ratio = float("inf")
        if ratio > worst:
            worst, worst_text = ratio, short[:40]
        if worst > MAX_RATIO:
            break
    return worst, worst_text


def _raise_too_slow(number: int, frame: Any) -> None:
    raise TooSlow


def _print(row: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (900, 900))
    signal.signal(signal.SIGPROF, _raise_too_slow)
    uses, unknown = find_uses()
    _print({"unknown": unknown, "total": len(uses)})
    for use in uses:
        ratio, text = find_worst(use)
        row = {"where": use.where, "method": use.method, "pattern": str(use.pattern.pattern)[:200]}
        _print({**row, "ratio": min(ratio, 1e9), "text": text})


if __name__ == "__main__":
    main()
