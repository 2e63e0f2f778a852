"""A tool in ten lines: a typed function is all it takes."""

import os

from headrace.engine import Agent


def calculator(expression: str) -> str:
    """Work out an arithmetic expression such as 12 * 34.

    Args:
        expression: digits and + - * / only
    """
    left, _, right = expression.partition("*")
    return str(int(left) * int(right))


agent = Agent(os.environ.get("HEADRACE_MODEL", "rehearsal:demo"), tools=[calculator])
print(agent.complete("What is 12 * 34?").text)
