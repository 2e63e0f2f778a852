"""Draws Markdown as terminal rows.

Links show their address, HTML and formulas are shown as written, and code can be copied without a
frame around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import (
    CodeBlock,
    Heading,
    HorizontalRule,
    Markdown,
    MarkdownElement,
    TableElement,
)
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from headrace.cli.commands.chat.display.markdown_splitter import Block
from headrace.cli.terminal.row import BLANK, Painter, Row
from headrace.cli.terminal.safe_text import safe

_CODE_INDENT = 2
# Between two columns of a table.
_CELL_GAP = 2
_THEME = "ansi_dark"


class _Heading(Heading):
    """A heading at the left, without a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.stylize("bold underline" if self.tag == "h1" else "bold")
        yield text


class _Code(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        drawn = Syntax(
            code, self.lexer_name, theme=_THEME, word_wrap=True, background_color="default"
        )
        yield Padding(drawn, (0, 0, 0, _CODE_INDENT))


class _Rule(HorizontalRule):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="dim")


class _Table(TableElement):
    """A table; one that is too wide is shown row by row, so that nothing is cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = self.header.row.cells if self.header is not None and self.header.row else []
        names = [cell.content for cell in head]
        rows = (
            []
            if self.body is None
            else [[cell.content for cell in row.cells] for row in self.body.rows]
        )
        least = [
            max((_longest_word(cell) for cell in column), default=1)
            for column in zip(names, *rows, strict=False)
        ]
        if sum(least) + _CELL_GAP * (len(least) - 1) <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        for place, row in enumerate(rows):
            if place:
                yield Text("")
            for name, cell in zip(names, row, strict=False):
                yield Text.assemble((f"{name.plain}: ", "bold"), cell)


def _longest_word(text: Text) -> int:
    return max((cell_len(word) for word in text.plain.split()), default=1)


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Rule,
        "table_open": _Table,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = text
        self.parsed = _without_links(_PARSER.parse(text))


_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_FORMULA = re.compile(
    r"\\\((?:(?!\\\)).)+\\\)|\\\[(?:(?!\\\]).)+\\\]|\$\$(?:(?!\$\$).)+\$\$"
    r"|\$(?![\s$])(?:\\.|[^\\$])+(?<!\s)\$(?!\d)",
    re.DOTALL,
)


def _keep_formula(state: StateInline, silent: bool) -> bool:
    """Leave a formula as it is written: its backslashes are not those of Markdown."""
    found = _FORMULA.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("text", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _break_line(state: StateInline, silent: bool) -> bool:
    """Read `<br>`, the only tag that is not shown as written: cells of tables need it."""
    found = _BREAK.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = found.end()
    return True


def _create_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    parser.inline.ruler.before("escape", "formula", _keep_formula)
    parser.inline.ruler.before("escape", "line_break", _break_line)
    return parser


_PARSER = _create_parser()


def markdown_rows(painter: Painter, block: Block, columns: int) -> list[Row]:
    """Return the rows of a Markdown block and a blank line; none for a blank block."""
    drawn = open_rows(painter, block, columns)
    is_cut_code = block.is_code and not block.source.rstrip().endswith(("```", "~~~"))
    return drawn if is_cut_code or not block.text.strip() else [*drawn, BLANK]


def open_rows(painter: Painter, block: Block, columns: int) -> list[Row]:
    """Return the rows of a Markdown block without a blank line."""
    if not block.text.strip():
        return []
    return _trim(painter.rows(_Markdown(block.text), columns))


def plain_rows(painter: Painter, text: str, columns: int, style: str = "") -> list[Row]:
    """Return the rows of text that is not Markdown."""
    return painter.rows(Text(text.expandtabs(4), style=style), columns)


def _trim(rows: list[Row]) -> list[Row]:
    first = next((at for at, row in enumerate(rows) if row.text), len(rows))
    last = next((at for at, row in enumerate(reversed(rows)) if row.text), 0)
    return rows[first : len(rows) - last]


def _without_links(tokens: list[Token]) -> list[Token]:
    """Replace links by their text and address, so that the target is always visible."""
    for token in tokens:
        if token.children:
            token.children = list(_unlink(token.children))
    return tokens


def _unlink(children: Iterable[Token]) -> Iterator[Token]:
    href, words = "", ""
    for child in children:
        if child.type == "link_open":
            href, words = _attribute(child, "href"), ""
        elif child.type == "link_close":
            if words != href and words != href.removeprefix("mailto:"):
                yield _text(f" ({href})")
        elif child.type == "image":
            yield _text(f"{child.content or 'image'} ({_attribute(child, 'src')})")
        else:
            # A direction mark written as &#8238; is only decoded here.
            child.content = safe(child.content)
            words += child.content
            yield child


def _attribute(token: Token, name: str) -> str:
    attributes: dict[str, Any] = dict(token.attrs)
    return str(attributes.get(name, ""))


def _text(content: str) -> Token:
    return Token("text", "", 0, content=safe(content))
