"""Finds the places of a function that can be changed, and compiles the changed function."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.Div: "*",
    ast.BitOr: "&",
    ast.Mod: "*",
}


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    path: Path
    name: str
    """Qualified name of the outermost function."""
    start: int
    end: int
    """The changed piece of the source, in characters."""
    text: str
    """What replaces the piece."""
    kind: str
    source: str
    shown_path: str

    @property
    def key(self) -> tuple[str, str]:
        """File and name of the function."""
        return str(self.path), self.name

    @property
    def changed(self) -> str:
        """The source of the module with the change."""
        return self.source[: self.start] + self.text + self.source[self.end :]

    @property
    def line(self) -> int:
        """The line of the change, from 1."""
        return self.source.count("\n", 0, self.start) + 1

    def describe(self) -> str:
        """Return a text that stays the same while other lines change."""
        return f"{self.shown_path} {self.name}: {self._line_of(self.source)} -> {self._new_line()}"

    def identify(self) -> str:
        """Return a key for the results."""
        around = self.source[max(0, self.start - 400) : self.end + 400]
        return hashlib.sha256((self.describe() + around).encode()).hexdigest()[:20]

    def diff(self) -> str:
        """Return the change as a unified diff without context."""
        before, after = self.source.splitlines(), self.changed.splitlines()
        lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
        return "\n".join(f"    {line}" for line in lines)

    def __str__(self) -> str:
        return f"{self.shown_path}:{self.line} {self.name} ({self.kind})"

    def _line_of(self, source: str) -> str:
        first = source.rfind("\n", 0, self.start) + 1
        return source[first : source.find("\n", self.start)].strip()

    def _new_line(self) -> str:
        return self._line_of(self.changed)


def find_mutants(folder: Path, root: Path, count: int) -> list[Mutant]:
    """Return a sample of the mutants of a folder. It is the same every time, and a change of the
    code changes it only there."""
    found = [
        mutant
        for path in sorted(folder.rglob("*.py"))
        for mutant in _mutants_of(path, str(path.relative_to(root)))
    ]
    found.sort(
        key=lambda mutant: hashlib.sha256(f"{mutant.describe()} {mutant.kind}".encode()).digest()
    )
    return sorted(found[:count], key=lambda mutant: (mutant.shown_path, mutant.start))


def compile_mutant(mutant: Mutant) -> CodeType:
    """Return the code of the changed function."""
    module = compile(mutant.changed, str(mutant.path), "exec")
    return next(code for code in _walk(module) if code.co_qualname == mutant.name)


def _walk(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _walk(constant)


def _mutants_of(path: Path, shown_path: str) -> Iterator[Mutant]:
    source = path.read_text()
    offsets = _Offsets(source)
    for name, function in _functions(ast.parse(source), ""):
        for node, text, kind in _Sites(source, offsets).visit_function(function):
            start, end = offsets.span(node)
            yield Mutant(path, name, start, end, text, kind, source, shown_path)


def _functions(
    node: ast.Module | ast.ClassDef, prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the outermost functions: those of the module and of its classes."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


class _Offsets:
    """Converts lines and columns (in UTF-8) to positions in the text."""

    def __init__(self, source: str) -> None:
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        last, end = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return self._at(line, column), self._at(last, end)

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


Site = tuple[ast.AST, str, str]


class _Sites:
    """Lists the changes of one function."""

    def __init__(self, source: str, offsets: _Offsets) -> None:
        self._source = source
        self._offsets = offsets

    def visit_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Site]:
        """Yield every change: the node that is replaced, its new text, and the kind of change."""
        body = function.body[1:] if _is_docstring(function.body[0]) else function.body
        for statement in body:
            yield from self._visit(statement)

    def _visit(self, node: ast.AST) -> Iterator[Site]:
        yield from self._changes(node)
        for name, value in ast.iter_fields(node):
            # Annotations say nothing at run time, and the wording of errors is not a promise.
            if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.Raise):
                continue
            if name == "args" and _is_cast(node):
                continue
            children = value if isinstance(value, list) else [value]
            for child in children:
                if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                    yield from self._visit(child)

    def _changes(self, node: ast.AST) -> Iterator[Site]:
        yield from self._changes_of_statement(node)
        match node:
            case ast.Compare(ops=[operator]):
                yield self._replace_operator(node, _COMPARISONS[type(operator)])
            case ast.BoolOp():
                yield self._replace_bool(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, f"({self._text(operand)})", "not removed"
            case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
                left, right = self._text(node.left), self._text(node.right)
                yield node, f"({left} {_OPERATORS[type(operator)]} {right})", "operator"
            case ast.Constant():
                yield from self._replace_constant(node)
            case ast.Call() if not _is_cast(node):
                yield from self._swap_arguments(node)
            case _:
                pass

    def _changes_of_statement(self, node: ast.AST) -> Iterator[Site]:
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                if not isinstance(test, ast.Compare | ast.UnaryOp):
                    yield test, f"(not ({self._text(test)}))", "condition negated"
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield value, "None", "return None"
            case (
                ast.Expr(value=ast.Call() | ast.Await())
                | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
                | ast.AugAssign()
                | ast.Delete()
                | ast.Break()
                | ast.Continue()
                | ast.Raise()
            ):
                yield node, "pass", "statement removed"
            case _:
                pass

    def _replace_operator(self, node: ast.Compare, word: str) -> Site:
        left, right = self._text(node.left), self._text(node.comparators[0])
        return node, f"({left} {word} {right})", "comparison"

    def _replace_bool(self, node: ast.BoolOp) -> Site:
        word = " or " if isinstance(node.op, ast.And) else " and "
        return node, f"({word.join(f'({self._text(v)})' for v in node.values)})", "and/or"

    def _replace_constant(self, node: ast.Constant) -> Iterator[Site]:
        value = node.value
        if isinstance(value, bool):
            yield node, str(not value), "constant"
        elif isinstance(value, int | float):
            yield node, repr(value + 1), "constant"
        elif isinstance(value, str) and "\n" not in self._text(node):
            yield node, repr(value + "_"), "constant"

    def _swap_arguments(self, node: ast.Call) -> Iterator[Site]:
        if len(node.args) < 2 or any(isinstance(entry, ast.Starred) for entry in node.args[:2]):
            return
        first, second = node.args[:2]
        between = self._source[self._offsets.span(first)[1] : self._offsets.span(second)[0]]
        span = ast.copy_location(ast.Pass(), first)
        span.end_lineno, span.end_col_offset = second.end_lineno, second.end_col_offset
        if self._text(first) != self._text(second):
            yield span, f"{self._text(second)}{between}{self._text(first)}", "arguments swapped"

    def _text(self, node: ast.AST) -> str:
        start, end = self._offsets.span(node)
        return self._source[start:end]


def _is_cast(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "cast"


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
