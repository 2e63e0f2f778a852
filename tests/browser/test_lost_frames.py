"""Answers whose stream lost frames: restored text is shown, and missing content is told."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from headrace.rehearsal.script import raw, turn
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk

GARBAGE = raw(b'data: {"type": "response.output_text.del\n\n')
START = raw(b'data: {"type":"response.output_text.delta","output_index":0,"delta":"It is "}\n\n')
REST = raw(
    b'data: {"type":"response.output_text.delta","output_index":0,"delta":"10 mg."}\n\n'
    b'data: {"type":"response.output_text.done","output_index":0,"text":"It is NOT 10 mg."}\n\n'
)


@pytest.fixture
def talk(stage: Stage, page: Page) -> Talk:
    return Talk(page, stage.url).open()


def test_missing_content_is_told(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(START, GARBAGE)]
    talk.send("q")
    talk.settle()
    told = talk.page.get_by_text("Part of the answer could not be read.")
    expect(told).to_be_visible()
    talk.page.reload()
    expect(told).to_be_visible()


def test_restored_text_replaces_the_text_with_the_gap(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(START, GARBAGE, REST, gate(1), raw(b": x\n\n"))]
    talk.send("q")
    expect(talk.page.get_by_text("It is NOT 10 mg.")).to_be_visible()
    stage.release(1)
    talk.settle()
    expect(talk.page.get_by_text("It is NOT 10 mg.")).to_be_visible()
