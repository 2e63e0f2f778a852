"""What the rehearsal model understands of a message: calculations, times, notes and special
requests.

It uses plain patterns, no language understanding.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Final

import msgspec

WISHES = {
    "slow": "pauses between the words and the parts",
    "long": "an answer of thousands of words",
    "parallel": "several tools called at once",
    "think again": "thinking between one tool and the next",
    "hidden": "reasoning whose text the provider keeps to itself",
    "redacted": "reasoning as a block that only the provider can read",
    "web search": "a web search that the provider runs",
    "run code": "code that the provider runs",
    "file search": "a file search that the provider runs",
    "approval": "a request of the provider to approve a tool, for which the answer waits",
    "fail": "an error event in the middle of the answer",
    "cut": "a connection that breaks in the middle of the answer",
    "stall": "an answer that stops and never goes on",
    "refuse": "a request that is turned away (429)",
    "help": "this list",
}
"""Special requests, and what they cause."""

# A request stands first, after a punctuation mark, after a word such as "please", or before
# "answer", so that "how long is a river" is a question and not a request.
_WISH = re.compile(
    r"(?:^|[,;:.!?(]\s*|\b(?:be|and|then|please|now|do|in|but)\s+)"
    r"(?P<first>{0})\b|\b(?P<second>{0})\s+(?:answer|please|calls)\b".format("|".join(WISHES)),
    re.IGNORECASE,
)
# Repetitions have limits and begin only where a number does: a message of any length is read in
# linear time.
_DIGITS = r"(?<![\d.])\d{1,15}(?:\.\d{1,15})?(?!\d)"
_NUMBER = rf"\({{0,8}}{_DIGITS}\){{0,8}}"
_SUM = re.compile(rf"-?{_NUMBER}(?:\s{{0,8}}[-+*/]\s{{0,8}}{_NUMBER})+")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}")
_SHARE = re.compile(
    rf"({_DIGITS})\s{{0,8}}(?:%|percent)\s{{1,8}}of\s{{1,8}}({_DIGITS})", re.IGNORECASE
)
_SPOKEN = (
    (re.compile(r"(?<=\d)\s*(?:x|×|times|multiplied by)\s*(?=[\d(])", re.IGNORECASE), " * "),
    (re.compile(r"(?<=\d)\s*(?:÷|divided by|over)\s*(?=[\d(])", re.IGNORECASE), " / "),
    (re.compile(r"(?<=\d)\s*plus\s*(?=[\d(])", re.IGNORECASE), " + "),
    (re.compile(r"(?<=\d)\s*(?:−|–|minus)\s*(?=[\d(])", re.IGNORECASE), " - "),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
)
_TIME = re.compile(
    r"\b(?:what|which|the|current|local)\s+(?:time|date|day|year|month|hour)\b"
    r"|\btoday\b|\btomorrow\b|\bo'?clock\b|\btime is it\b|\bright now\b",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"\b(?:write|draft|make|create|compose|prepare|jot|note|save)\s+(?:me\s+|us\s+|down\s+)?"
    r"(?:an?\s+|the\s+|my\s+|some\s+|down\s+)(?P<what>[^.!?\n,;:]{3,60})",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_GREETING = re.compile(r"\s*(?:hi|hello|hey|good (?:morning|evening|day))\b[^\n]{0,20}", re.I)
_THANKS = re.compile(r"\b(?:thanks|thank you|cheers)\b", re.IGNORECASE)
_IDENTITY = re.compile(r"\b(?:who|what) are you\b|\bare you (?:an? )?\w+", re.IGNORECASE)


MAX_CHARS: Final = 10_000
"""Longest part of a message that is read: reading blocks the server that serves the model."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A message, as far as patterns can read it."""

    text: str
    words: tuple[str, ...] = ()
    wishes: frozenset[str] = frozenset()
    sums: tuple[str, ...] = ()
    asks_time: bool = False
    note: str | None = None
    """What to write down."""
    is_greeting: bool = False
    is_thanks: bool = False
    asks_identity: bool = False

    @property
    def is_question(self) -> bool:
        """Whether the message asks something."""
        return "?" in self.text

    @property
    def longest(self) -> str:
        """The longest word; the first of several."""
        return max(self.words, key=len, default="")


def read(text: str) -> Reading:
    """Read the first `MAX_CHARS` characters of a message."""
    text = text[:MAX_CHARS]
    words = tuple(_WORD.findall(text))
    wanted = _NOTE.search(text)
    return Reading(
        text=text.strip(),
        words=words,
        wishes=frozenset(
            (match["first"] or match["second"]).lower() for match in _WISH.finditer(text)
        ),
        sums=_sums(text),
        asks_time=_TIME.search(text) is not None,
        note=wanted["what"].strip() if wanted else None,
        is_greeting=_GREETING.fullmatch(text) is not None,
        is_thanks=_THANKS.search(text) is not None,
        asks_identity=_IDENTITY.search(text) is not None,
    )


def _sums(text: str) -> tuple[str, ...]:
    text = _SHARE.sub(r"\1 / 100 * \2", _DATE.sub("", text))
    for pattern, sign in _SPOKEN:
        text = pattern.sub(sign, text)
    found = (_strip_brackets(match[0].strip()) for match in _SUM.finditer(text))
    return tuple(dict.fromkeys(entry for entry in found if value_of(entry) is not None))[:3]


def _strip_brackets(expression: str) -> str:
    """Remove the brackets that the message had around the expression."""
    while expression.count("(") > expression.count(")") and expression.startswith("("):
        expression = expression[1:]
    while expression.count(")") > expression.count("(") and expression.endswith(")"):
        expression = expression[:-1]
    return expression


# --- sums -------------------------------------------------------------------------

_Sign = Callable[[float, float], float]
_SIGNS: dict[type[ast.operator], _Sign] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
}
_MAX_CHARS = 200


def value_of(expression: str) -> str | None:
    """Return the value of an arithmetic expression, or None for anything else."""
    try:
        value = _value(ast.parse(expression[:_MAX_CHARS], mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError):
        return None
    # Whole numbers are written without a fraction, also after a division.
    is_whole = value == int(value) and abs(value) < 1e15
    return str(int(value)) if is_whole else f"{value:.10g}"


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_value(left), _value(right))
        case _:
            raise ValueError("no sum")
