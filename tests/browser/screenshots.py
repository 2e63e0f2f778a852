"""`python -m tests.browser.screenshots FOLDER`: pictures of every state, to be looked at."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from headrace.rehearsal.script import call, error, finish, say, think, turn, wait
from tests.browser.chromium import launch_chromium
from tests.browser.stage import Stage, gate
from tests.browser.talk import PATIENCE_MS, Talk

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
LINES = "\n\n".join(f"Line {number} of a longer answer." for number in range(30))


def scripts(stage: Stage) -> None:
    """What is played."""
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


def approval(talk: Talk) -> None:
    talk.send("approval: delete the draft")
    talk.page.wait_for_timeout(600)


def final(talk: Talk) -> None:
    talk.ask(QUESTION)
    talk.page.wait_for_timeout(600)


def opened(talk: Talk) -> None:
    final(talk)
    talk.open_all()
    talk.page.locator("summary.tool-line").first.click()
    talk.page.locator(".scroller").evaluate("one => one.scrollTop = 0")
    talk.page.wait_for_timeout(300)


def queued(talk: Talk) -> None:
    """Messages wait for the answer."""
    _shown(talk, "live", ".overlay .part >> nth=1")
    for text in ("And over five years?", "Put both into a table, please."):
        talk.send(text)
    talk.composer.fill("One more thing")


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


STATES: tuple[Callable[[Talk], None], ...] = (
    empty, live, tools, text, stuck, hidden, built_in, approval, final, opened, failed, cancelled,
    queued, rich, asked_long, limited,
)  # fmt: skip
WIDE = {"width": 1180, "height": 820}
PHONE = {"width": 390, "height": 740}


def _take(
    browser: Browser, url: str, folder: Path, state: Callable[[Talk], None], **look: str
) -> None:
    size = PHONE if look.get("size") == "phone" else WIDE
    scheme = "dark" if look.get("scheme") == "dark" else "light"
    context = browser.new_context(viewport=size, color_scheme=scheme, device_scale_factor=1)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    page: Page = context.new_page()
    state(Talk(page, url).open())
    name = "-".join((state.__name__, *look.values()))
    page.screenshot(path=folder / f"{name}.png")
    print(f"  {name}.png")  # noqa: T201
    context.close()


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        for look in ({}, {"scheme": "dark"}, {"size": "phone"}):
            for state in STATES:
                stage = Stage(Path(data) / f"{state.__name__}-{len(look)}-{''.join(look)}").open()
                scripts(stage)
                _take(browser, stage.url, folder, state, **look)
                stage.close()
        browser.close()


if __name__ == "__main__":
    main()
