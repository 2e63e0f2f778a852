"""Markdown as rows. Links tell where they lead, HTML is shown as it is written, code can be
copied out of the terminal without a frame around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from headrace.cli.commands.chat.markdown_splitter import Block
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, Markdown, MarkdownElement
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from headrace.cli.terminal.row import BLANK, Painter, Row
from headrace.cli.terminal.safe_text import safe

_CODE_INDENT = 2
_THEME = "ansi_dark"


class _Heading(Heading):
    """At the left, and no box."""

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


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Rule,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = text
        self.parsed = _without_links(_PARSER.parse(text))


_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


class Prose:
    """Draws blocks, one after the other."""

    def __init__(self, painter: Painter) -> None:
        self._painter = painter

    def rows(self, block: Block, columns: int) -> list[Row]:
        """The block and the blank line behind it; none for a blank block."""
        if not block.text.strip():
            return []
        drawn = self.open_rows(block, columns)
        is_cut_code = block.is_code and not block.source.rstrip().endswith(("```", "~~~"))
        return drawn if is_cut_code else [*drawn, BLANK]

    def open_rows(self, block: Block, columns: int) -> list[Row]:
        """The block without a blank line."""
        if not block.text.strip():
            return []
        rows = self._painter.rows(_Markdown(block.text), columns)
        return _trimmed(rows)


def plain_rows(painter: Painter, text: str, columns: int, style: str = "") -> list[Row]:
    """Text that is no markdown."""
    return painter.rows(Text(text.expandtabs(4), style=style), columns)


def _trimmed(rows: list[Row]) -> list[Row]:
    first = next((at for at, row in enumerate(rows) if row.text), len(rows))
    last = next((at for at, row in enumerate(reversed(rows)) if row.text), 0)
    return rows[first : len(rows) - last]


def _without_links(tokens: list[Token]) -> list[Token]:
    """A link becomes its words and its address: nobody is led where they do not see it."""
    for token in tokens:
        if token.children:
            token.children = list(_unlinked(token.children))
    return tokens


def _unlinked(children: Iterable[Token]) -> Iterator[Token]:
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
            # Written as &#8238; a mark of direction comes to life only here.
            child.content = safe(child.content)
            words += child.content
            yield child


def _attribute(token: Token, name: str) -> str:
    attributes: dict[str, Any] = dict(token.attrs)
    return str(attributes.get(name, ""))


def _text(content: str) -> Token:
    return Token("text", "", 0, content=safe(content))
