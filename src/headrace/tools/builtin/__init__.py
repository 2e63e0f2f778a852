"""Tools that come along: safe ones for any agent, and `fetch`, which must be asked for."""

from headrace.tools.builtin.calculator import calculator
from headrace.tools.builtin.clock import clock_tool
from headrace.tools.builtin.fetch import fetch_tool
from headrace.tools.builtin.notepad import Note, NotePad
from headrace.tools.tool import Tool

__all__ = ["Note", "NotePad", "calculator", "clock_tool", "default_tools", "fetch_tool"]


def default_tools() -> tuple[Tool, ...]:
    """A calculator, a clock and a note pad: they reach nothing outside, and take neither
    time nor memory worth speaking of."""
    return Tool(calculator), clock_tool(), NotePad().tool
