"""The rehearsal model: a deterministic stand-in that thinks, calls tools and answers.

It is not a language model, and says so. It reads the user's message with patterns and answers in
Markdown that depends on the message. It calls `calculator`, `clock` and `notepad` if they are
offered and useful, and any other tool that the message names and whose arguments it can fill from
the message. If a JSON schema is asked for, it answers with a value that matches it. The same
request always gets the same turn.

Special requests stand first in a message, after a punctuation mark, or after "please":

    slow          pauses between words and between parts
    long          an answer of thousands of words
    parallel      several tools at once
    think again   reasoning between one tool and the next
    hidden        reasoning whose text the provider keeps to itself
    redacted      reasoning as a block that only the provider can read
    web search    a web search that the provider runs
    run code      code that the provider runs
    file search   a file search that the provider runs
    approval      a request of the provider to approve a tool
    fail          an error event in the middle of the answer
    cut           a connection that breaks in the middle of the answer
    stall         an answer that stops and never continues
    refuse        a request that is refused (429)
    help          the list of these words
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headrace.events import JSONObject
from headrace.rehearsal import script
from headrace.rehearsal.prose import choose, count_words, reply
from headrace.rehearsal.provider_side import hide_reasoning, provider_lines
from headrace.rehearsal.reading import Reading, read
from headrace.rehearsal.request_reader import Heard, HeardResult
from headrace.rehearsal.schema_value import SchemaFiller
from headrace.rehearsal.script import Line, ScriptedTurn, call, say, think
from headrace.rehearsal.tool_use import ToolUse, plan_calls
from headrace.rehearsal.transport import ScriptedTransport

PACE_S = 0.02
"""Default time per word."""
_SLOW_PACE_S = 0.12
_LONG_PACE_S = 0.004
_SLOW_WAIT_S = 1.5

_FAULTS: dict[str, Line] = {
    "fail": script.error("overloaded", "The rehearsal model was asked to fail, and does."),
    "cut": script.cut(),
    "stall": script.stall(),
}
_READINGS = (
    "Let me read the message again before I answer.",
    "Let me look at what is being asked here.",
    "I need to see what this message wants from me.",
)
_WEIGHINGS = (
    "I need to keep it short and say where it comes from.",
    "I should answer with what I have and claim no more.",
    "Let me put that in order: the result first, then how I got it.",
)


def answer(heard: Heard, *, pace_s: float = PACE_S) -> ScriptedTurn:
    """Return the turn that answers a request. With `pace_s` 0 there are no pauses between words."""
    reading = read(heard.user)
    if "refuse" in reading.wishes:
        return script.turn(script.refuse(429, "The rehearsal model was asked to refuse, and does."))
    results = [m.result for m in heard.since_user if m.result is not None]
    left = plan_calls(reading, heard)[len(results) :]
    if left:
        lines = _ask(reading, heard, left, results)
    elif heard.schema is not None:
        lines = _answer_by_schema(reading, heard, heard.schema)
    else:
        lines = _answer(reading, heard, results)
    lines = hide_reasoning(lines, reading)
    if "slow" in reading.wishes:
        lines = [step for line in lines for step in (script.wait(_SLOW_WAIT_S), line)]
    return script.turn(*lines, pace_s=_pace_s(reading, pace_s))


def rehearsal_transport(*, dialect: str = "responses", pace_s: float = PACE_S) -> ScriptedTransport:
    """Create a transport that is answered by the rehearsal model."""

    def player(heard: Heard) -> ScriptedTurn:
        return answer(heard, pace_s=pace_s)

    return ScriptedTransport(player, dialect=dialect, keeps_requests=False)


def _pace_s(reading: Reading, pace_s: float) -> float:
    if not pace_s:
        return 0.0
    if "slow" in reading.wishes:
        return _SLOW_PACE_S
    return _LONG_PACE_S if "long" in reading.wishes else pace_s


# --- asking tools -----------------------------------------------------------------


def _ask(
    reading: Reading, heard: Heard, left: Sequence[ToolUse], results: Sequence[HeardResult]
) -> list[Line]:
    """Think and call tools: all at once if asked for, otherwise one after the other."""
    uses = left if "parallel" in reading.wishes else left[:1]
    lines = _first_thoughts(reading, heard) if not results else _thoughts_between(reading, results)
    lines += [_purpose(uses)] if heard.effort != "none" else []
    if not results:
        lines.append(say(_announcement(uses)))
    return lines + [call(use.name, use.args) for use in uses]


def _purpose(uses: Sequence[ToolUse]) -> Line:
    title = "Choosing a tool" if len(uses) == 1 else "Choosing several tools"
    wanted = " and ".join(f"`{use.name}`" for use in uses)
    return think(f"I need to {uses[0].purpose}. So I call {wanted}.", title=title)


def _announcement(uses: Sequence[ToolUse]) -> str:
    if len(uses) == 1:
        return f"Let me {uses[0].purpose} first.\n\n"
    return f"Let me ask {len(uses)} tools at once.\n\n"


def _first_thoughts(reading: Reading, heard: Heard) -> list[Line]:
    if heard.effort == "none":
        return []
    kind = "a question" if reading.is_question else "no question"
    counted = f"It has {count_words(reading)} and is {kind}."
    thoughts: list[Line] = [
        think(f"{choose(_READINGS, reading)} {counted}", title="Reading the message")
    ]
    if heard.effort in ("high", "xhigh", "max"):
        word = reading.longest or "nothing"
        told = f"Let me check every part of it. The longest word is “{word}”, for what it is worth."
        thoughts.append(think(told, title="Looking closer"))
    return thoughts


def _thoughts_between(reading: Reading, results: Sequence[HeardResult]) -> list[Line]:
    last = results[-1]
    short = " ".join(last.text.split())[:60]
    if "think again" not in reading.wishes:
        return [think(f"`{last.name}` says {short}. Let me go on with the next.")]
    return [
        think(f"`{last.name}` says {short}.", title=f"Reading what {last.name} said"),
        think("Let me think again before I go on. One thing is still missing.", title="Once more"),
    ]


# --- answering --------------------------------------------------------------------


def _answer(reading: Reading, heard: Heard, results: Sequence[HeardResult]) -> list[Line]:
    lines: list[Line] = []
    if heard.effort != "none":
        lines += _last_thoughts(reading, results) if results else _first_thoughts(reading, heard)
        if not reading.is_greeting:
            lines.append(think(choose(_WEIGHINGS, reading, 1), title="Putting the answer together"))
    lines += provider_lines(reading, heard)
    if any(isinstance(line, script.Approval) for line in lines):
        return lines
    text = reply(reading, heard, results)
    fault = next((_FAULTS[wish] for wish in _FAULTS if wish in reading.wishes), None)
    if fault is None:
        return [*lines, say(text)]
    return [*lines, say(text[: len(text) // 2]), fault]


def _answer_by_schema(reading: Reading, heard: Heard, schema: JSONObject) -> list[Line]:
    value = SchemaFiller(schema, heard.user).fill()
    thoughts = _first_thoughts(reading, heard) if heard.effort != "none" else []
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return [*thoughts, say(text)]


def _last_thoughts(reading: Reading, results: Sequence[HeardResult]) -> list[Line]:
    told = f"There are {len(results)} results. " if len(results) > 1 else ""
    failed = any(result.is_error for result in results)
    judged = "One of them failed, and I must not hide that." if failed else "That looks right."
    return [think(f"Let me check what came back. {told}{judged}", title="Checking the results")]
