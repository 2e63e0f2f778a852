"""A calculator tool that evaluates arithmetic in bounded time.

It uses neither `eval` nor Python's own parser, whose nesting and warnings cannot be limited. No
expression takes longer than a few thousand operations.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.tools.result import ToolReturn, tool_error

Number: TypeAlias = int | float

MAX_EXPRESSION_CHARS = 1_000
MAX_DEPTH = 50
"""How deeply parentheses, signs and powers may be nested."""
MAX_BITS = 4_096
"""Most bits of an integer, intermediate ones included: about 1,200 digits."""
MAX_FACTORIAL = 500
_SHOWN_DIGITS = 15

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-zπ]\w*)|(?P<mark>\*\*|//|[-+*/%^(),]))"
)
_SAME = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"})
_CONSTANTS: dict[str, Number] = {"pi": math.pi, "π": math.pi, "e": math.e, "tau": math.tau}


class _InvalidExpression(ValueError):
    """The expression cannot be evaluated; the message is for the model."""


def calculator(expression: str) -> str | ToolReturn:
    """Work out an arithmetic expression, exactly where the numbers are whole.

    It knows + - * / // % ** (or ^), parentheses, pi, e, and the functions sqrt, abs, round,
    min, max, sin, cos, tan, asin, acos, atan, log, log2, log10, exp, floor, ceil and
    factorial. Angles are in radians.

    Args:
        expression: For example "2 * (3 + 4) ** 2" or "sqrt(2) / 2".
    """
    try:
        return format_number(_Parser(_tokens(expression)).value())
    except _InvalidExpression as error:
        return tool_error(f"Cannot work that out: {error}.")
    except ZeroDivisionError:
        return tool_error("Cannot work that out: division by zero.")
    except OverflowError:
        return tool_error("Cannot work that out: a number on the way is too large.")
    except ValueError:
        return tool_error("Cannot work that out: a function is not defined for that number.")


def format_number(number: Number) -> str:
    """Format a number without the noise of binary fractions: 0.1 + 0.2 is 0.3."""
    if isinstance(number, int):
        return str(number)
    rounded = float(f"{number:.{_SHOWN_DIGITS}g}")
    if rounded.is_integer() and abs(rounded) < 10**_SHOWN_DIGITS:
        return str(int(rounded))
    return repr(rounded if math.isfinite(rounded) else number)


def _tokens(expression: str) -> list[tuple[str, str]]:
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise _InvalidExpression(f"the expression is longer than {MAX_EXPRESSION_CHARS} characters")
    text = expression.translate(_SAME).strip()
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _InvalidExpression(f"{text[at:].lstrip()[:1]!r} has no meaning here")
        tokens.append((str(match.lastgroup), match[0].strip()))
        at = match.end()
    return tokens


class _Parser:
    """A recursive descent parser: sums of products of signed powers."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def value(self) -> Number:
        result = self._sum()
        if self._at < len(self._tokens):
            text = self._tokens[self._at][1]
            raise _InvalidExpression(f"{text!r} was found in place of an operator or the end")
        return result

    def _sum(self) -> Number:
        return self._apply(self._product, "+", "-")

    def _product(self) -> Number:
        return self._apply(self._signed_power, "*", "//", "/", "%")

    def _apply(self, operand: Callable[[], Number], *marks: str) -> Number:
        result = operand()
        while (mark := self._take(*marks)) is not None:
            result = _check(_DO[mark](result, operand()))
        return result

    def _signed_power(self) -> Number:
        """A sign binds weaker than a power: -2 ** 2 is -4."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _InvalidExpression(f"it is nested deeper than {MAX_DEPTH}")
        mark = self._take("-", "+")
        if mark is None:
            result = self._power()
        else:
            result = -self._signed_power() if mark == "-" else self._signed_power()
        self._depth -= 1
        return result

    def _power(self) -> Number:
        base = self._atom()
        if self._take("**", "^") is None:
            return base
        return _check(_power(base, self._signed_power()))

    def _atom(self) -> Number:
        kind, text = self._token()
        if kind == "number":
            return _number(text)
        if kind == "name":
            return self._constant_or_call(text)
        if text != "(":
            raise _InvalidExpression(f"a number is missing before {text!r}")
        return self._close_parenthesis(self._sum())

    def _constant_or_call(self, name: str) -> Number:
        if self._take("(") is not None:
            arguments = [self._sum()]
            while self._take(",") is not None:
                arguments.append(self._sum())
            self._close_parenthesis(0)
            return _check(_call(name, arguments))
        if name.lower() in _CONSTANTS:
            return _CONSTANTS[name.lower()]
        known = ", ".join((*_CONSTANTS, *_FUNCTIONS))
        raise _InvalidExpression(f"{name[:40]!r} is not known; there are {known}")

    def _close_parenthesis(self, value: Number) -> Number:
        if self._take(")") is None:
            raise _InvalidExpression("a parenthesis is not closed")
        return value

    def _take(self, *marks: str) -> str | None:
        if self._at < len(self._tokens) and self._tokens[self._at][1] in marks:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def _token(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise _InvalidExpression("a number is missing at the end")
        self._at += 1
        return self._tokens[self._at - 1]


# --- arithmetic within bounds -------------------------------------------------------


def _number(text: str) -> Number:
    text = text.replace("_", "")
    return _check(int(text) if text.isdecimal() else float(text))


def _check(number: Any) -> Number:
    if isinstance(number, complex):
        raise _InvalidExpression("the result is not a real number")
    if isinstance(number, int) and number.bit_length() > MAX_BITS:
        raise _InvalidExpression("a number on the way is too large")
    if isinstance(number, float) and not math.isfinite(number):
        raise _InvalidExpression("a number on the way is too large, or none")
    return number  # type: ignore[no-any-return]


def _divide(left: Number, right: Number) -> Number:
    """Divide, with an integer as the result if possible, so that large integers stay exact."""
    if isinstance(left, int) and isinstance(right, int) and right and left % right == 0:
        return left // right
    return left / right


def _power(base: Number, exponent: Number) -> Number:
    """Check the size of the result first: 9 ** 9 ** 9 has 370 million digits."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if abs(base) > 1 and (base.bit_length() - 1) * exponent > MAX_BITS:
            raise _InvalidExpression("a number on the way is too large")
        return int(base**exponent)
    return base**exponent


def _round(number: Number, digits: Number = 0) -> Number:
    if not isinstance(digits, int) or abs(digits) > 100:
        raise _InvalidExpression("round takes a whole number of digits, at most 100")
    return round(number, digits) if digits else round(number)


def _factorial(number: Number) -> int:
    if number != int(number) or not 0 <= number <= MAX_FACTORIAL:
        raise _InvalidExpression(f"factorial takes whole numbers from 0 to {MAX_FACTORIAL}")
    return math.factorial(int(number))


_DO: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "//": lambda left, right: left // right,
    "%": operator.mod,
}
_OF_ONE_NUMBER = "sqrt sin cos tan asin acos atan log2 log10 exp floor ceil".split()
# The function, and how many arguments it takes.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    **{name: (getattr(math, name), 1, 1) for name in _OF_ONE_NUMBER},
    "abs": (abs, 1, 1),
    "round": (_round, 1, 2),
    "min": (lambda *numbers: min(numbers), 1, 100),
    "max": (lambda *numbers: max(numbers), 1, 100),
    "log": (math.log, 1, 2),
    "ln": (math.log, 1, 1),
    "factorial": (_factorial, 1, 1),
}


def _call(name: str, arguments: list[Number]) -> Any:
    if name.lower() not in _FUNCTIONS:
        raise _InvalidExpression(
            f"{name[:40]!r} is not a function; there are {', '.join(_FUNCTIONS)}"
        )
    function, least, most = _FUNCTIONS[name.lower()]
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise _InvalidExpression(f"{name} takes {wanted} numbers; got {len(arguments)}")
    return function(*arguments)
