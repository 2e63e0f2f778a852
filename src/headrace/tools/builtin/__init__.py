"""Built-in tools: calculator, clock and note pad, and `fetch`, which is not in the default."""

from headrace.tools.builtin.calculator import calculator
from headrace.tools.builtin.clock import clock_tool
from headrace.tools.builtin.fetch import fetch_tool
from headrace.tools.builtin.notepad import Note, NotePad
from headrace.tools.tool import Tool

__all__ = ["Note", "NotePad", "calculator", "clock_tool", "default_tools", "fetch_tool"]


def default_tools() -> tuple[Tool, ...]:
    """Return the calculator, the clock and the note pad. They access nothing outside the process,
    and their time and memory are bounded."""
    return Tool(calculator), clock_tool(), NotePad().tool
