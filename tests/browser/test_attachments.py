"""Files in the composer and in questions: chosen, pasted, dropped, removed, refused, and sent."""

from __future__ import annotations

import base64

from playwright.sync_api import BrowserContext, FilePayload, Page, expect

from headrace.rehearsal.script import say, turn
from tests.browser.stage import Stage
from tests.browser.talk import Talk
from tests.browser.test_access import find_axe_violations
from tests.sample_files import HTML, PDF, png

_GIVE = """([name, type, data, how]) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const given = new DataTransfer();
  given.items.add(new File([bytes], name, { type }));
  const root = document.querySelector('headrace-chat').shadowRoot;
  const event = how === 'paste'
    ? new ClipboardEvent('paste', { clipboardData: given, bubbles: true, cancelable: true })
    : new DragEvent('drop', { dataTransfer: given, bubbles: true, cancelable: true });
  root.querySelector(how === 'paste' ? 'textarea' : '.scroller').dispatchEvent(event);
}"""


def _give(page: Page, name: str, kind: str, data: bytes, how: str) -> None:
    page.evaluate(_GIVE, [name, kind, base64.b64encode(data).decode(), how])


def test_files_are_chosen_pasted_dropped_removed_and_sent(stage: Stage, page: Page) -> None:
    stage.plays["What is it?"] = stage.plays["And now?"] = [turn(say("A dot."))]
    talk = Talk(page, stage.url).open()
    files = page.get_by_role("list", name="Attachments").get_by_role("listitem")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    plan = FilePayload(name="plan.pdf", mimeType="application/pdf", buffer=PDF)
    bad = FilePayload(name="bad.zip", mimeType="application/zip", buffer=b"PK\x03\x04\0")
    chooser.value.set_files([plan, bad])
    expect(files.nth(1)).to_contain_text("send an image")
    talk.composer.fill("What is it?")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    page.get_by_role("button", name="Remove bad.zip").click()
    _give(page, "dot.png", "image/png", png(), "paste")
    _give(page, "page.html", "text/html", HTML, "drop")
    expect(files).to_have_count(3)
    expect(files.locator("img")).to_have_count(1)
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    talk.composer.press("Enter")
    talk.settle()
    expect(files).to_have_count(0)
    _give(page, "other.pdf", "application/pdf", PDF, "drop")
    expect(files).to_have_count(1)
    page.get_by_role("button", name="New conversation").click()
    expect(files).to_have_count(0)
    page.go_back()
    question = page.locator("headrace-user-message")
    for _ in range(2):
        expect(question.locator("img")).to_have_count(1)
        assert question.locator("img").evaluate("one => one.naturalWidth") == 1
        expect(question.locator("button.file")).to_have_count(2)
        page.reload()
    with page.expect_download() as saved:
        question.get_by_role("button", name="plan.pdf").click()
    assert saved.value.suggested_filename == "plan.pdf"
    assert saved.value.path().read_bytes() == PDF
    page.get_by_role("button", name="Edit").click()
    page.locator(".editor textarea").fill("And now?")
    page.locator(".editor textarea").press("Enter")
    talk.settle()
    expect(question.locator(".said")).to_have_text("And now?")
    page.reload()
    expect(question.locator("img")).to_have_count(1)


def test_axe_finds_nothing_in_attachments(stage: Stage, context: BrowserContext) -> None:
    # Not the fixture `page`: axe uses styles that the policy of the page forbids.
    page = context.new_page()
    stage.plays["q"] = [turn(say("Hello."))]
    talk = Talk(page, stage.url).open()
    _give(page, "dot.png", "image/png", png(), "paste")
    _give(page, "bad.bin", "", b"\0\1\2", "paste")
    expect(page.get_by_role("alert")).to_contain_text("send an image")
    assert find_axe_violations(talk) == []
    page.get_by_role("button", name="Remove bad.bin").click()
    talk.ask("q")
    expect(page.locator("headrace-user-message img")).to_be_visible()
    assert find_axe_violations(talk) == []
