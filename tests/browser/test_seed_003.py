"""Seed 003, the front end: its acceptance criteria, rules and edge cases, each by name, in a real
browser against the real server. Where the design corrects the document, the test says so."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from headrace.rehearsal.script import call, error, say, think, turn, wait
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk

FIRST = think("I look at the first thing.", title="Looking")
SECOND = think("Then I weigh the second thing.", title="Weighing")
SUM = call("calculator", expression="12*34")
LATER = think("The tool has told me.", title="Checking")


@pytest.fixture
def talk(stage: Stage, page: Page) -> Talk:
    return Talk(page, stage.url).open()


# --- acceptance criteria -----------------------------------------------------------


def test_acceptance_while_streaming_overlays_are_seen_and_show_reasoning_is_hidden(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [
        turn(FIRST, SECOND, SUM),
        turn(LATER, gate(1), say("It is 408."), gate(2), say(" Done.")),
    ]
    talk.send("q")
    expect(talk.overlay).to_contain_text("The tool has told me.")
    expect(talk.overlay).to_contain_text("calculator")
    expect(talk.overlay).to_be_visible()
    expect(talk.toggles).to_have_count(0)
    stage.release(1)
    expect(talk.page.locator(".text")).to_contain_text("It is 408.")
    # Text has begun: the overlay stays above it, with its words.
    expect(talk.overlay.get_by_text("The tool has told me.")).to_be_in_viewport()
    expect(talk.toggles).to_have_count(0)
    stage.release(2)
    talk.settle()


def test_acceptance_after_the_end_overlays_are_gone_and_the_collapsible_is_closed(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [turn(FIRST, SUM), turn(LATER, say("It is 408."))]
    talk.ask("q")
    expect(talk.overlay).to_have_count(0)
    expect(talk.toggles).to_have_count(2)
    for toggle in talk.toggles.all():
        expect(toggle).to_have_attribute("aria-expanded", "false")
    expect(talk.page.locator("[data-part]")).to_have_count(0)
    expect(talk.page.locator("headrace-tool-call-segment")).to_be_visible()


def test_acceptance_the_store_is_written_once_and_never_while_streaming(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [turn(FIRST, SUM), turn(LATER, say("It is"), gate(1), say(" 408."))]
    talk.send("q")
    expect(talk.page.locator(".text")).to_contain_text("It is")
    assert talk.state("store.writes") == 0
    assert talk.state("bus.size") == 1
    stage.release(1)
    talk.settle()
    assert talk.state("store.writes") == 1
    assert talk.state("bus.size") == 0


def test_acceptance_the_final_view_has_every_step_of_the_overlay(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(FIRST, SECOND, SUM), turn(LATER, gate(1), say("It is 408."))]
    talk.send("q")
    expect(talk.overlay).to_contain_text("The tool has told me.")
    before = talk.steps()
    stage.release(1)
    talk.settle()
    talk.open_all()
    after = [step for step in talk.steps() if step[0] != "text"]
    assert [kind for kind, *_ in before] == ["part", "part", "tool", "part"]
    assert after == before


# --- streaming ---------------------------------------------------------------------


def test_the_client_makes_the_placeholder_before_the_first_frame(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(gate(1), say("Hello."))]
    talk.send("q")
    expect(talk.page.locator(".streaming .overlay")).to_contain_text("Thinking")
    expect(talk.page.locator(".said")).to_have_text("q")
    stage.release(1)
    talk.settle()


def test_the_header_says_thinking_and_the_seconds_until_a_status_phrase_comes(
    stage: Stage, talk: Talk
) -> None:
    """An open question of the document; decision 14 answers it."""
    stage.plays["q"] = [turn(think("hm "), gate(1), FIRST, gate(2), say("x"))]
    talk.send("q")
    head = talk.page.locator(".overlay .steps-head")
    expect(head).to_contain_text("Thinking")
    expect(head).to_contain_text("1 s")
    stage.release(1)
    expect(head).to_contain_text("Looking")
    stage.release(2)
    talk.settle()


def test_each_part_has_its_spinner_until_it_is_complete(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(FIRST, SECOND, gate(1), say("x"))]
    talk.send("q")
    expect(talk.page.locator(".overlay .part")).to_have_count(2)
    expect(talk.page.locator(".overlay .part").nth(0).locator(".spinner")).to_have_count(0)
    expect(talk.page.locator(".overlay .part").nth(1).locator(".spinner")).to_be_visible()
    stage.release(1)
    talk.settle()


def test_text_streams_below_the_overlay(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(FIRST, say("Below."), gate(1), say(" x"))]
    talk.send("q")
    text = talk.page.locator(".text")
    expect(text).to_contain_text("Below.")
    overlay_box, text_box = talk.overlay.bounding_box(), text.bounding_box()
    assert overlay_box is not None
    assert text_box is not None
    assert overlay_box["y"] + overlay_box["height"] <= text_box["y"]
    stage.release(1)
    talk.settle()


def test_a_tool_shows_its_arguments_as_they_come_and_its_result(stage: Stage, talk: Talk) -> None:
    written = call("calculator", pieces=['{"expr', 'ession": "1', '2*34"}'])
    stage.plays["q"] = [turn(FIRST, written), turn(gate(1), say("x"))]
    talk.send("q")
    tool = talk.page.locator("headrace-streaming-tools-overlay")
    expect(tool).to_contain_text("12*34")
    expect(tool).to_contain_text("408")
    stage.release(1)
    talk.settle()


def test_the_window_follows_the_newest_words_and_lets_the_reader_scroll(
    stage: Stage, talk: Talk
) -> None:
    long = think("\n\n".join(f"Thought number {number}." for number in range(60)))
    more = think("\n\n".join(f"Another {number}." for number in range(30)))
    stage.plays["q"] = [turn(long, gate(1), more, gate(2), say("x"))]
    talk.send("q")
    window = talk.page.locator(".window")
    expect(window).to_contain_text("Thought number 59.")
    newest = window.get_by_text("Thought number 59.")
    assert _is_inside(newest, window)
    assert window.evaluate("one => one.clientHeight") <= 220
    window.hover()
    talk.page.mouse.wheel(0, -600)
    talk.until(f"() => {_WINDOW}.scrollTop < -400")
    talk.page.wait_for_timeout(200)
    read = window.get_by_text("Thought number 36.")
    held = read.bounding_box()
    assert _is_inside(read, window)
    stage.release(1)
    expect(window).to_contain_text("Another 29.")
    assert read.bounding_box() == held, "the words under the reader's eyes have moved"
    stage.release(2)
    talk.settle()


def _is_inside(inner: Locator, outer: Locator) -> bool:
    one, other = inner.bounding_box(), outer.bounding_box()
    assert one is not None
    assert other is not None
    return other["y"] <= one["y"] and one["y"] + one["height"] <= other["y"] + other["height"] + 1


_WINDOW = "document.querySelector('headrace-chat').shadowRoot.querySelector('.window')"


# --- afterwards --------------------------------------------------------------------


def test_a_fresh_page_shows_what_is_stored_and_the_collapsible_closed(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [turn(FIRST, say("Hello."))]
    talk.ask("q")
    talk.page.reload()
    expect(talk.toggles).to_have_attribute("aria-expanded", "false")
    expect(talk.page.locator(".text")).to_have_text("Hello.")
    expect(talk.overlay).to_have_count(0)


def test_the_open_state_is_per_event_and_local(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(FIRST, say("Hello."))]
    talk.ask("q")
    talk.ask("q")
    talk.toggles.nth(0).click()
    expect(talk.toggles.nth(0)).to_have_attribute("aria-expanded", "true")
    expect(talk.toggles.nth(1)).to_have_attribute("aria-expanded", "false")
    talk.page.reload()
    expect(talk.toggles).to_have_count(2)
    expect(talk.toggles.nth(0)).to_have_attribute("aria-expanded", "false")


def test_show_reasoning_is_closest_to_the_content_and_there_is_no_outer_row(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [turn(FIRST, SUM), turn(LATER, say("Hello."))]
    talk.ask("q")
    order = talk.page.locator(".message.assistant").evaluate(
        "one => [...one.children].map((child) => child.localName + '.' + child.className)"
    )
    assert order == ["headrace-steps-panel.stored", "div.text ", "div.foot"]
    toggle, text = talk.toggles.last.bounding_box(), talk.page.locator(".text").bounding_box()
    assert toggle is not None
    assert text is not None
    assert 0 <= text["y"] - (toggle["y"] + toggle["height"]) <= 16


def test_the_summary_tells_the_measured_time_and_the_tokens(stage: Stage, talk: Talk) -> None:
    slow = think(pieces=["one ", "two"])
    stage.plays["q"] = [turn(slow, SUM), turn(think("three"), say("Hello."))]
    stage.pace_s = 0.0
    talk.ask("q")
    heads = talk.page.locator(".reasoning .steps-head")
    expect(heads.first).to_contain_text("Worked for a moment · 1 tool")
    expect(heads.last).to_contain_text("Thought for a moment")
    talk.open_all()
    expect(talk.page.locator(".reasoning .facts").first).to_contain_text("tokens")


# --- edge cases --------------------------------------------------------------------


def test_edge_no_reasoning_no_show_reasoning(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(say("Hello."))]
    stage.plays["tool"] = [turn(SUM), turn(say("It is 408."))]
    talk.ask("q")
    talk.ask("tool")
    expect(talk.toggles).to_have_count(0)
    expect(talk.page.locator("headrace-tool-call-segment")).to_be_visible()


def test_edge_several_parts_stream_independently_and_in_order(stage: Stage, talk: Talk) -> None:
    third = think("And the third.", title="Closing")
    stage.plays["q"] = [turn(FIRST, gate(1), SECOND, gate(2), third, gate(3), say("x"))]
    talk.send("q")
    for number in (1, 2, 3):
        expect(talk.page.locator(".overlay .part")).to_have_count(number)
        stage.release(number)
    talk.settle()
    talk.open_all()
    texts = [step[1] for step in talk.steps() if step[0] == "part"]
    assert [text.split("\n")[0][:7] for text in texts] == ["Looking", "Weighin", "Closing"]


def test_edge_sequence_numbers_order_steps_in_the_overlay_and_afterwards(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [
        turn(FIRST, SUM, call("clock")),
        turn(SECOND, call("calculator", expression="2*2")),
        turn(LATER, gate(1), say("x")),
    ]
    talk.send("q")
    expect(talk.overlay).to_contain_text("The tool has told me.")
    order = [step[0] for step in talk.steps()]
    stage.release(1)
    talk.settle()
    talk.open_all()
    assert order == ["part", "tool", "tool", "part", "tool", "part"]
    assert [step[0] for step in talk.steps()][:6] == order


def test_edge_sequence_numbers_and_not_the_arrival_of_frames_order_the_overlay(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [turn(gate(1), say("x"))]
    talk.send("q")
    expect(talk.overlay).to_be_visible()
    talk.until("() => document.querySelector('headrace-chat').chat.streamingId")
    talk.page.evaluate(_FEED, [_call(3), _call(1), *_part(2, 0), *_part(0, 1), *_part(0, 0)])
    expect(talk.overlay.locator(".part")).to_have_count(3)
    texts = [step[1] for step in talk.steps()]
    assert texts == [
        "segment 0, part 0",
        "segment 0, part 1",
        "tool 1",
        "segment 2, part 0",
        "tool 3",
    ]
    stage.release(1)
    talk.settle()


_FEED = """(frames) => {
  const { chat } = document.querySelector("headrace-chat");
  chat.bus.feed(chat.streamingId, frames);
}"""


def _call(number: int) -> dict[str, Any]:
    return {
        "type": "tool_call_started",
        "call_id": f"c{number}",
        "segment_id": f"s{number}",
        "name": f"tool {number}",
        "sequence_number": number,
    }


def _part(number: int, index: int) -> list[dict[str, Any]]:
    place = {"segment_id": f"s{number}", "summary_index": index}
    text = f"segment {number}, part {index}"
    return [
        {"type": "reasoning_part_started", **place, "sequence_number": number, "created_at": 1},
        {"type": "reasoning_part_delta", **place, "text_delta": text},
    ]


def test_edge_text_between_steps_keeps_its_place(stage: Stage, talk: Talk) -> None:
    """Decision 14: older steps have settled in their place."""
    stage.plays["q"] = [
        turn(FIRST, say("Let me see. "), SUM),
        turn(LATER, say("It is 408."), gate(1), say(" x")),
    ]
    talk.send("q")
    expect(talk.page.locator(".text").nth(1)).to_contain_text("It is 408.")
    order = [step[0] for step in talk.steps()]
    stage.release(1)
    talk.settle()
    talk.open_all()
    assert order == ["part", "text", "tool", "part", "text"]
    assert [step[0] for step in talk.steps()] == order


def test_edge_cancelling_hides_the_overlay_and_keeps_what_came(stage: Stage, talk: Talk) -> None:
    """Decision 11: a partial event is committed, so its reasoning can be shown."""
    stage.plays["q"] = [turn(FIRST, say("Half of"), gate(1), say(" it."))]
    talk.send("q")
    expect(talk.page.locator(".text")).to_contain_text("Half of")
    talk.page.get_by_role("button", name="Stop").click()
    talk.settle()
    expect(talk.overlay).to_have_count(0)
    expect(talk.page.locator(".notice")).to_contain_text("You stopped this answer.")
    expect(talk.page.locator(".text")).to_contain_text("Half of")
    expect(talk.toggles).to_have_attribute("aria-expanded", "false")


def test_edge_an_error_hides_the_overlay_and_says_what_to_do(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(FIRST, say("Half of"), error("overloaded", "Too much to do."))]
    talk.ask("q")
    expect(talk.overlay).to_have_count(0)
    notice = talk.page.locator(".notice.error")
    expect(notice).to_contain_text("The provider is overloaded.")
    expect(notice.get_by_role("button", name="Retry")).to_be_visible()
    notice.get_by_text("Details").click()
    expect(notice).to_contain_text("Too much to do.")
    expect(talk.page.locator(".text")).to_contain_text("Half of")


def test_edge_a_refresh_while_streaming_goes_on_with_the_overlay(stage: Stage, talk: Talk) -> None:
    """The document left this out; decision 14 brings it."""
    stage.plays["q"] = [turn(FIRST, gate(1), SECOND, gate(2), say("Hello."))]
    talk.send("q")
    expect(talk.overlay).to_contain_text("I look at the first thing.")
    talk.page.reload()
    expect(talk.overlay).to_contain_text("I look at the first thing.")
    expect(talk.toggles).to_have_count(0)
    stage.release(1)
    expect(talk.overlay).to_contain_text("Then I weigh")
    stage.release(2)
    talk.settle()
    expect(talk.page.locator(".text")).to_have_text("Hello.")
    assert talk.state("store.writes") == 1


def test_edge_an_empty_answer_still_ends(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn()]
    talk.ask("q")
    expect(talk.page.locator(".empty-answer")).to_be_visible()


HIDDEN = "The model kept its reasoning to itself"


def test_edge_reasoning_that_is_kept_secret_says_so(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(think(encrypted=True), say("Hello."), gate(1), say(" x"))]
    talk.send("q")
    expect(talk.page.locator(".text")).to_contain_text("Hello.")
    expect(talk.overlay).to_contain_text(HIDDEN)
    stage.release(1)
    talk.settle()
    expect(talk.page.locator("headrace-steps-panel")).to_have_text(HIDDEN)
    expect(talk.toggles).to_have_count(0)
    talk.page.reload()
    expect(talk.page.locator("headrace-steps-panel")).to_have_text(HIDDEN)


def test_edge_the_time_of_hidden_reasoning_is_told(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(think(encrypted=True), wait(2.2), say("Hello."), gate(1), say(" x"))]
    talk.send("q")
    told = re.compile(rf"{HIDDEN} · [23] s")
    expect(talk.overlay).to_contain_text(told)
    stage.release(1)
    talk.settle()
    expect(talk.page.locator("headrace-steps-panel")).to_have_text(told)


def test_edge_late_summaries_take_the_time_since_the_item_began(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(think(), wait(2.2), think("All at once."), say("Hello."))]
    talk.ask("q")
    expect(talk.page.locator(".reasoning .summary")).to_have_text(re.compile("Thought for [23] s"))


# --- tools of the provider, as the rehearsal model causes them ---------------------


def test_built_in_tools_stream_in_the_overlay_and_stay_inline(stage: Stage, talk: Talk) -> None:
    stage.hold_commits()
    talk.send("web search, run code, file search: what is on the river?")
    names = ["Web search", "Code interpreter", "File search"]
    streaming = talk.overlay.locator("headrace-streaming-tools-overlay .tool-name")
    expect(streaming).to_have_text(names)
    stage.release_commits()
    talk.settle()
    stored = talk.page.locator("headrace-built-in-tool-segment")
    expect(stored.locator(".tool-name")).to_have_text(names)
    expect(stored.nth(1)).to_contain_text("print(6 * 7)")
    stored.nth(1).locator("summary").click()
    expect(stored.nth(1).locator(".tool-result")).to_contain_text("42")
    kinds = {one["type"] for one in talk.state("store.branch.at(-1).event.segments")}
    built_in = {"web_search_call", "code_interpreter_call", "file_search_call"}
    assert kinds == {"reasoning", *built_in, "text"}


@pytest.mark.parametrize(("button", "state"), [("Deny", "not approved"), ("Approve", "")])
def test_an_approval_of_the_provider_is_shown_as_given_only_if_it_was(
    talk: Talk, button: str, state: str
) -> None:
    talk.send("approval: delete it")
    expect(talk.overlay.locator(".tool-state")).to_have_text("waiting for approval")
    row = talk.page.get_by_role("region", name="Request of delete_file")
    expect(row).to_contain_text("files")
    row.get_by_role("button", name=button, exact=True).click()
    talk.settle()
    segment = talk.page.locator("headrace-built-in-tool-segment")
    expect(segment).to_contain_text("delete_file")
    expect(segment.locator(".tool-state")).to_have_text(state)
