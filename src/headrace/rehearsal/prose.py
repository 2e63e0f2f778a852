"""The answers of the rehearsal model, in Markdown. They say what the model is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from headrace.rehearsal.reading import WISHES, Reading, value_of
from headrace.rehearsal.request_reader import Heard, HeardResult

T = TypeVar("T")

_OPENINGS = (
    "Here is what I found.",
    "I can answer that.",
    "Done, and here it is.",
    "Let me put it together for you.",
)
_NOTES = (
    "I am the rehearsal model: I follow patterns, so trust the arithmetic and not the charm.",
    "All this is a rehearsal: no language model has read your message.",
    "This comes from the rehearsal model, which plays its part without a language model.",
    "A word on who speaks: a rehearsal model, deterministic and offline.",
)
_VERDICTS = (
    "A language model would weigh these words; I can only count them.",
    "I cannot judge this, but I can show how an answer to it would arrive.",
    "What it means is beyond a rehearsal. How it travels is not.",
    "Where a language model would reason about it, I go through the motions, in order.",
)
# What a language model would set out to do, by the kind of question.
_PLANS: tuple[tuple[str, tuple[str, str, str]], ...] = (
    ("why", ("gather what is known", "look for the cause behind it", "say how sure it is")),
    ("how", ("find the steps", "put them in order", "warn where it goes wrong")),
    ("compare", ("take both sides apart", "set them side by side", "pick one, with a reason")),
    ("who", ("find the name", "check it against a source", "add what the name is known for")),
    ("code", ("sketch the types", "write the smallest thing that works", "test it")),
    ("", ("read it for what is wanted", "collect what helps", "answer, and stop there")),
)
_SENTENCES = (
    "The bytes of this sentence came in one event, and were shown as soon as they were read",
    "A stream that is cut here leaves everything above this line as it was",
    "Whoever joins now is given what was said before, and then goes on with everybody else",
    "Nothing in this paragraph was thought up; it is as long as it was asked to be",
    "Scroll up while it goes on, and the page should stay where you put it",
    "The reasoning has ended by now, and its seal went with it",
    "A slow reader does not slow down the others, for each has a place of its own in the log",
    "If you stop me here, what you see is what is kept",
    "Every word of this is a delta, and all deltas together are the message",
    "The river does not hurry, and the wheel takes what the channel brings",
    "It ends with a reason, for a text that just stops is not a text that is finished",
    "One record follows another without a gap, and the last one says how it went",
)
_LONG_SECTIONS = 60


def choose(options: Sequence[T], reading: Reading, salt: int = 0) -> T:
    """Choose one of several, always the same for the same message."""
    return options[(sum(map(ord, reading.text)) + salt) % len(options)]


def count_words(reading: Reading) -> str:
    """Return how many words the message has, in words."""
    return "one word" if len(reading.words) == 1 else f"{len(reading.words)} words"


def reply(reading: Reading, heard: Heard, results: Sequence[HeardResult]) -> str:
    """Return the whole answer."""
    if "help" in reading.wishes:
        return help_text()
    if "long" in reading.wishes:
        return _long(reading)
    if results:
        return _with_results(reading, results)
    if reading.sums:
        return _by_head(reading)
    if reading.is_greeting or reading.asks_identity or reading.is_thanks:
        return _small_talk(reading)
    return _about(reading, heard)


def help_text() -> str:
    """Return the list of what the model can be asked for."""
    rows = "\n".join(f"| `{word}` | {meaning} |" for word, meaning in WISHES.items())
    return (
        "I am the **rehearsal model**. I am not a language model: I read your message with a"
        " few patterns and play a part, so that everything around me can be tried without a"
        " key or a network.\n\n"
        "I call a calculator, a clock or a note pad where they are offered and help. These"
        " words, at the beginning of your message or after a comma, ask for more:\n\n"
        f"| Say | and you get |\n| --- | --- |\n{rows}\n\n"
        "For example:\n\n```text\nslow, parallel: what is 12 * 34, and what time is it?\n```\n"
    )


# --- with tools -------------------------------------------------------------------


def _with_results(reading: Reading, results: Sequence[HeardResult]) -> str:
    rows = "\n".join(
        f"| `{result.name}` | {_cell(result.text)} |{' failed |' if result.is_error else ' |'}"
        for result in results
    )
    lead = [
        _tell_results(reading, results),
        f"| Tool | Result | Note |\n| --- | --- | --- |\n{rows}",
    ]
    if reading.sums:
        lead.append(_code(reading))
    return "\n\n".join([*lead, f"*{choose(_NOTES, reading)}*"]) + "\n"


def _tell_results(reading: Reading, results: Sequence[HeardResult]) -> str:
    failed = [result for result in results if result.is_error]
    if failed:
        return f"`{failed[0].name}` did not work, and I say so instead of making something up."
    if len(results) == 1:
        return f"{choose(_OPENINGS, reading)} **{_cell(results[0].text)}**"
    return f"{choose(_OPENINGS, reading)} I asked {len(results)} times:"


def _cell(text: str) -> str:
    """Format a result for a table: one line, shortened."""
    line = " ".join(text.replace("|", "\\|").split())
    return line if len(line) <= 120 else f"{line[:119]}…"


def _code(reading: Reading) -> str:
    lines = "\n".join(f">>> {entry}\n{value_of(entry)}" for entry in reading.sums)
    return f"```python\n{lines}\n```"


# --- without ----------------------------------------------------------------------


def _by_head(reading: Reading) -> str:
    first = reading.sums[0]
    rest = "" if len(reading.sums) == 1 else " The others are below."
    return (
        f"**{first} = {value_of(first)}**.{rest} No calculator was offered, so I did it myself:"
        f"\n\n{_code(reading)}\n\n*{choose(_NOTES, reading)}*\n"
    )


def _small_talk(reading: Reading) -> str:
    if reading.asks_identity:
        return (
            "I am the **rehearsal model**: a stand-in that thinks, calls tools and answers by a"
            " script, over the same wire as any provider. I am not a language model, and I am"
            " fine with that. Say `help` to see what I can play.\n"
        )
    if reading.is_thanks:
        return "You are welcome. For a rehearsal that went rather well, I think.\n"
    return (
        "Hello! I am the rehearsal model: no key, no network, no language model behind me."
        " Ask me for a sum, for the time, or to write something down, or say `help`.\n"
    )


def _about(reading: Reading, heard: Heard) -> str:
    kind = "question" if reading.is_question else "message"
    rows = [
        ("Words", str(len(reading.words))),
        ("Longest word", f"`{reading.longest}`" if reading.longest else "none"),
        ("Tools offered", ", ".join(f"`{name}`" for name in heard.tool_names) or "none"),
        ("Said before", f"{heard.replies} replies of mine"),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    earlier = _earlier(heard)
    return (
        f"> {_quote(reading)}\n\n"
        f"That is your {kind}, as it reached me. {choose(_VERDICTS, reading)}{earlier}\n\n"
        f"{_plan(reading)}\n\n"
        f"| About it | Value |\n| --- | --- |\n{table}\n\n"
        "To have one in my place, change a word:\n\n"
        f'```python\nheadrace.stream("openai:gpt-5", "{_quote(reading, 40)}")\n```\n\n'
        f"*{choose(_NOTES, reading)} Say `help` for what I can play.*\n"
    )


def _plan(reading: Reading) -> str:
    said = {word.lower() for word in reading.words}
    steps = next(steps for word, steps in _PLANS if not word or word in said)
    rows = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return f"A language model would now\n\n{rows}"


def _earlier(heard: Heard) -> str:
    before = [message.text for message in heard.messages if message.role == "user"][:-1]
    if not before or not before[-1]:
        return ""
    return f" Before that you wrote “{' '.join(before[-1].split())[:80]}”."


def _quote(reading: Reading, max_chars: int = 160) -> str:
    line = " ".join(reading.text.split()).replace('"', "'") or "(nothing)"
    return line if len(line) <= max_chars else f"{line[: max_chars - 1]}…"


def _long(reading: Reading) -> str:
    words = [word for word in reading.words if len(word) > 3] or ["water"]
    sections = [
        f"## {number + 1}. {words[number % len(words)].capitalize()}\n\n{_paragraph(number)}"
        for number in range(_LONG_SECTIONS)
    ]
    head = f"# A long answer\n\n*{choose(_NOTES, reading)} You asked for length; here it is.*"
    return "\n\n".join([head, *sections, "That is all. It was long, as you wished.\n"])


def _paragraph(number: int) -> str:
    count = len(_SENTENCES)
    return ". ".join(_SENTENCES[(number * 5 + step) % count] for step in range(4)) + "."
