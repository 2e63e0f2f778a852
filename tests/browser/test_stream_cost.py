"""What a long stream costs the page, in counts that no busy machine changes."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from headrace.rehearsal.script import say, think, turn
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk, script

PARAGRAPHS = "".join(f"Paragraph {number} has *some* words in it.\n\n" for number in range(300))
DELTA_CHARS = 16
BLOCKS_A_PAGE = 40
NEAR_BLOCKS = 3 * BLOCKS_A_PAGE + 1
"""Blocks that the browser lays out in each text: three pages, and the one that is written."""

_COUNT = script("count")
_COUNTED = script("counted")


@pytest.fixture
def talk(stage: Stage, page: Page) -> Talk:
    return Talk(page, stage.url).open()


def _metrics(session: Any) -> dict[str, float]:
    told = session.send("Performance.getMetrics")["metrics"]
    return {one["name"]: one["value"] for one in told}


def test_a_long_stream_is_read_once_a_drawing_and_makes_each_block_once(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [
        turn(
            think(PARAGRAPHS, deltas=DELTA_CHARS),
            say(PARAGRAPHS, deltas=DELTA_CHARS),
            gate(1),
            say("x"),
            pace_s=0.0005,
        )
    ]
    session = talk.page.context.new_cdp_session(talk.page)
    session.send("Performance.enable")
    talk.page.evaluate(_COUNT)
    before = _metrics(session)
    talk.send("q")
    # Playwright's own way to wait lays out the page each time.
    talk.until("() => window.counts.isWritten")

    after, counted = _metrics(session), talk.page.evaluate(_COUNTED)
    stage.release(1)
    talk.settle()
    seconds = after["Timestamp"] - before["Timestamp"]
    # The head of the window counts the seconds, and the page around the answer changes too.
    others = 40 + 4 * seconds
    drawings = counted["drawings"]
    assert after["LayoutCount"] - before["LayoutCount"] <= 2 * drawings + others
    assert after["RecalcStyleCount"] - before["RecalcStyleCount"] <= 3 * drawings + others
    assert counted["reads"] <= 2 * drawings + 10, "text is collected until it can be drawn"
    assert counted["blocks"] == 600
    assert counted["made"] <= 600 + 2, "and the open end of each text, which is drawn in place"
    pages = 2 * 600 / BLOCKS_A_PAGE
    assert counted["insertions"] <= drawings + pages, "blocks of one drawing are added together"
    assert max(counted["near"]) <= NEAR_BLOCKS
    assert counted["stepStyles"] <= 2, "styles of the steps are set when they change"
