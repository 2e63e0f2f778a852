"""States of answers: while they stream, when they are complete, and when they have failed."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Route, expect

from headrace.rehearsal.script import (
    call,
    error,
    finish,
    redacted,
    refuse,
    say,
    think,
    turn,
    wait,
)
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk

QUESTION = "Which of the two plans is cheaper over three years?"
PARTS = (
    think(
        "There are two plans. The first costs 34 a month. The second costs 420 a year, with a"
        " fee of 60 at the start. I need the sum over three years for each of them.",
        title="Comparing the two plans",
    ),
    think(
        "The first is 34 times 36. I could do that in my head, and would rather have it"
        " calculated, since the whole answer hangs on it.",
        title="Working out the first",
    ),
)
ANSWER = """\
The second plan is **cheaper over three years**.

| Plan | Each year | Once | Three years |
| --- | --- | --- | --- |
| First | 408 | | 1,224 |
| Second | 420 | 60 | 1,320 |

Wait: that says the *first* one is. Over three years it saves 96, because the fee of the second is
never made up for.

```python
first, second = 34 * 36, 420 * 3 + 60
print(second - first)  # 96
```

If you stay longer, nothing changes: $12 \\times 34 = 408$ stays below 420.
"""
_LATER = think("The results are in; the second plan needs its fee.", title="Weighing it")
_TOOLS = (call("calculator", expression="34 * 36"), call("calculator", expression="420 * 3 + 60"))


RICH = """\
# What there is

Water is H<sub>2</sub>O, press <kbd>Ctrl</kbd> + <kbd>C</kbd>, and it was counted twice[^1].

## To do

- [x] measure
- [ ] write it down

| Place | Depth | Share |
|:---|---:|:---:|
| Upper | 1,204 | 38 % |
| Lower | 98 | 62 % |

> A quotation
>
> > in a quotation

<details>
<summary>How it was counted</summary>

By hand, **twice**.

</details>

```html
<h3>A preview</h3>
```

مرحبا بالعالم، هذا نص من اليمين إلى اليسار.

[^1]: By two *different* people.
"""
DIAGRAM = """\
```mermaid
flowchart LR
  Question --> Model{Needs a tool?}
  Model -->|yes| Tool --> Model
  Model -->|no| Answer
```

That is the whole loop.
"""
MATH = """\
The sum of the first $n$ squares is

$$\\sum_{k=1}^{n} k^2 = \\frac{n(n+1)(2n+1)}{6}$$

so for $n = 10$ it is **385**.
"""
RIGHT_TO_LEFT = "كم تبلغ المسافة بين القاهرة والإسكندرية؟"
CODE = """\
```python
def merge(left: list[int], right: list[int]) -> list[int]:
    merged: list[int] = []
    while left and right:
        first = left if left[0] <= right[0] else right
        merged.append(first.pop(0))  # the smaller one comes first
    return merged + left + rig"""
LINES = "\n\n".join(f"Line {number} of a longer answer." for number in range(30))


def add_plays(stage: Stage) -> None:
    """Set what is played in these states."""
    stage.plays |= {
        QUESTION: [turn(*PARTS, *_TOOLS), turn(_LATER, say(ANSWER))],
        "live": [turn(*PARTS, gate(1), say("x"))],
        "tools": [turn(*PARTS, *_TOOLS), turn(_LATER, gate(2), say("x"))],
        "text": [turn(*PARTS, *_TOOLS), turn(_LATER, say(ANSWER[:420]), gate(3), say("x"))],
        "long": [turn(*PARTS, *_TOOLS), turn(_LATER, say(ANSWER + LINES), gate(5), say("x"))],
        "hidden": [turn(think(encrypted=True), wait(2.1), say(ANSWER[:300]), gate(6), say("x"))],
        "error": [turn(*PARTS, say(ANSWER[:90]), error("overloaded", "Overloaded, try later."))],
        "rich": [turn(say(RICH))],
        "limited": [turn(say(ANSWER[:300]), finish("max_tokens"))],
        LINES: [turn(say("That was long."))],
        "diagram": [turn(say(DIAGRAM))],
        "math": [turn(say(MATH))],
        RIGHT_TO_LEFT: [turn(think("أفكر."), say("المسافة نحو **220** كيلومترا.\n\n- بالسيارة\n"))],
        "code": [turn(say(CODE), gate(7), say("x"))],
        "cited": [turn(say("The first claim.\n\nThe second claim.\n\nThe end."))],
        "redacted": [turn(redacted(), think("The rest may be shown."), say("So it is."))],
        "refused": [turn(refuse(401, "Incorrect API key provided."))],
        "nothing": [turn(think("There is nothing to say to that."))],
        "again": [turn(say("One answer."))],
        "cancel": [turn(*PARTS, say(ANSWER[:300]), gate(4), say("x"))],
    }


def _shown(talk: Talk, text: str, until: str) -> None:
    talk.send(text)
    talk.page.locator(until).last.wait_for()
    talk.page.wait_for_timeout(400)


def empty(talk: Talk) -> None:
    talk.page.wait_for_timeout(200)


def live(talk: Talk) -> None:
    _shown(talk, "live", ".overlay .part >> nth=1")


def tools(talk: Talk) -> None:
    _shown(talk, "tools", ".overlay .part >> nth=2")


def text(talk: Talk) -> None:
    _shown(talk, "text", ".streaming table")


def stuck(talk: Talk) -> None:
    """The text has grown beyond the screen; the overlay is still in sight."""
    _shown(talk, "long", ".streaming .text >> text=Line 29")


def hidden(talk: Talk) -> None:
    _shown(talk, "hidden", ".streaming table")


def built_in(talk: Talk) -> None:
    talk.ask("web search, run code: what is 12*34?")
    talk.ask("hidden: and now?")
    talk.page.wait_for_timeout(300)


def final(talk: Talk) -> None:
    talk.ask(QUESTION)
    talk.page.wait_for_timeout(600)


def opened(talk: Talk) -> None:
    final(talk)
    talk.open_all()
    talk.page.locator("summary.tool-line").first.click()
    talk.page.locator(".scroller").evaluate("one => one.scrollTop = 0")
    talk.page.wait_for_timeout(300)


def rich(talk: Talk) -> None:
    """Everything that Markdown can show."""
    talk.ask("rich")
    talk.page.get_by_text("How it was counted").click()
    talk.page.get_by_role("button", name="Preview").click()
    talk.page.wait_for_timeout(400)


def asked_long(talk: Talk) -> None:
    """A long question is folded."""
    talk.composer.fill(LINES)
    talk.page.get_by_role("button", name="Send").click()
    talk.settle()


def limited(talk: Talk) -> None:
    """The answer has reached its maximum length."""
    talk.ask("limited")


def failed(talk: Talk) -> None:
    talk.ask("error")


def cancelled(talk: Talk) -> None:
    _shown(talk, "cancel", ".streaming table")
    talk.page.get_by_role("button", name="Stop").click()
    talk.settle()


def diagram(talk: Talk) -> None:
    talk.ask("diagram")
    talk.page.locator("iframe.diagram").wait_for()
    talk.page.wait_for_timeout(300)


def math(talk: Talk) -> None:
    talk.ask("math")
    talk.page.locator(".katex").first.wait_for()


def right_to_left(talk: Talk) -> None:
    talk.ask(RIGHT_TO_LEFT)


def code(talk: Talk) -> None:
    """Code that is being written is colored line by line."""
    _shown(talk, "code", ".streaming code .hljs-keyword")


def cited(talk: Talk) -> None:
    """Sources are marked in the text and listed below it."""
    talk.ask("cited")
    sources = [
        {"ref": "https://a.example/x", "title": "Tides", "start": 0, "end": 16, "quote": "none"},
        {"ref": "https://b.example/y", "title": "Rivers", "start": 18, "end": 34},
    ]

    def cite(route: Route) -> None:
        body = route.fetch().json()
        body["messages"][-1]["event"]["segments"][-1]["citations"] = sources
        route.fulfill(json=body)

    talk.page.route(f"**/api/conversations/{talk.conversation_id}", cite)
    talk.page.reload()
    talk.page.get_by_role("list", name="Sources").wait_for()


def redacted_reasoning(talk: Talk) -> None:
    talk.ask("redacted")
    talk.open_all()
    talk.page.wait_for_timeout(300)


def refused(talk: Talk) -> None:
    """The provider has refused the request."""
    talk.ask("refused")


def nothing(talk: Talk) -> None:
    """A thought without an answer."""
    talk.ask("nothing")


def versions(talk: Talk) -> None:
    """An answer has another version."""
    talk.ask("again")
    talk.page.get_by_role("button", name="Regenerate").click()
    expect(talk.page.get_by_role("button", name="Earlier version")).to_be_visible()
    talk.settle()


def scrolled_up(talk: Talk) -> None:
    """The reader has left the end of an answer that goes on."""
    _shown(talk, "long", ".streaming .text >> text=Line 29")
    talk.page.locator(".scroller").hover()
    talk.page.mouse.wheel(0, -500)
    talk.page.get_by_role("button", name="Latest").wait_for()
    talk.page.wait_for_timeout(300)


STATES: tuple[Callable[[Talk], None], ...] = (
    empty, live, tools, text, stuck, hidden, built_in, final, opened, failed, cancelled, rich,
    asked_long, limited, diagram, math, right_to_left, code, cited, redacted_reasoning, refused,
    nothing, versions, scrolled_up,
)  # fmt: skip
