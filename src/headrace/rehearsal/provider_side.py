"""What the rehearsal model leaves to its provider: hidden reasoning, and tools that run there."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.rehearsal import script
from headrace.rehearsal.reading import Reading, value_of
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import Line, Think

_ASKED_TOOL = "delete_file"
_DEFAULT_SUM = "6 * 7"
_SOURCES = ("https://example.org/headrace", "https://example.org/mill")
_TEXTS = ("A headrace brings the water to the wheel.", "A tailrace takes it away.")


def hide_reasoning(lines: Sequence[Line], reading: Reading) -> list[Line]:
    """Return the lines with their thoughts hidden, if the message asks for that."""
    if "hidden" in reading.wishes:
        return [_hide(line) for line in lines]
    if "redacted" in reading.wishes:
        return [script.redacted() if isinstance(line, Think) else line for line in lines]
    return list(lines)


def _hide(line: Line) -> Line:
    return script.think(encrypted=True) if isinstance(line, Think) else line


def provider_lines(reading: Reading, heard: Heard) -> list[Line]:
    """Return the tools that the provider runs for this message.

    Only the Responses dialect has them; in any other the answer says so.
    """
    wishes = reading.wishes
    if not wishes & {"web search", "run code", "file search", "approval"}:
        return []
    if any(m.result is not None and m.result.name == _ASKED_TOOL for m in heard.since_user):
        # The provider has run its tools before it asked.
        return []
    if heard.dialect != "responses":
        return [script.say(f"*The {heard.dialect} dialect has no tools of the provider.*\n\n")]
    lines: list[Line] = []
    if "web search" in wishes:
        lines.append(script.provider_call("web_search", reading.text[:80], *_SOURCES))
    if "run code" in wishes:
        sum = (reading.sums or (_DEFAULT_SUM,))[0]
        lines.append(script.provider_call("code_interpreter", f"print({sum})", value_of(sum) or ""))
    if "file search" in wishes:
        lines.append(script.provider_call("file_search", reading.text[:80], *_TEXTS))
    if "approval" in wishes:
        lines.append(script.approval(_ASKED_TOOL, path="draft.md"))
    return lines
