"""A tool in ten lines: any typed function can be one."""

import math
import os

from headrace import Agent


def calculator(expression: str) -> str:
    """Multiply whole numbers, such as 12 * 34."""
    return str(math.prod(int(number) for number in expression.split("*")))


agent = Agent(os.environ.get("HEADRACE_MODEL", "rehearsal:demo"), tools=[calculator])
print(agent.complete("What is 12 * 34?").text)
