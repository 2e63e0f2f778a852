"""States of the page around the answers: composer, list, files, notices, and other layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import FilePayload, expect

from headrace.rehearsal.script import say, turn
from tests.browser.stage import Stage
from tests.browser.states.answers import live
from tests.browser.talk import Talk, script
from tests.sample_files import PDF, draw_picture

_TITLES = (
    "Which plan is cheaper over three years?",
    "Explain how a heat pump works",
    "A packing list for a week in Norway",
    "Refactor the parser of the import job",
    "Names for a small sailing boat",
)


def add_plays(stage: Stage) -> None:
    """Set what is played in these states."""
    stage.plays |= {title: [turn(say("Here is what I would do."))] for title in _TITLES}
    stage.plays["What is this?"] = [turn(say("A picture, and a document of one page."))]


def queued(talk: Talk) -> None:
    """Messages wait for the answer."""
    live(talk)
    for text in ("And over five years?", "Put both into a table, please."):
        talk.send(text)
    talk.composer.fill("One more thing")


def listed(talk: Talk) -> None:
    """Several conversations; on a phone they are in a drawer."""
    for title in _TITLES:
        talk.ask(title)
        talk.page.goto(talk.url + "/#/")
        talk.page.locator(".hello").wait_for()
    _open_list(talk)
    talk.page.locator(".list .title").nth(2).click()
    talk.page.locator("headrace-assistant-message").wait_for()
    _open_list(talk)


def _open_list(talk: Talk) -> None:
    drawer = talk.page.get_by_role("button", name="Conversations", exact=True)
    if drawer.is_visible():
        drawer.click()
        talk.page.wait_for_timeout(300)


def renaming(talk: Talk) -> None:
    talk.ask(_TITLES[0])
    _open_list(talk)
    talk.page.get_by_role("button", name="Rename").click()
    talk.page.wait_for_timeout(300)


def deleted(talk: Talk) -> None:
    """A deletion that can be undone."""
    for title in _TITLES[:2]:
        talk.ask(title)
        talk.page.goto(talk.url + "/#/")
        talk.page.locator(".hello").wait_for()
    _open_list(talk)
    talk.page.get_by_role("button", name="Delete", exact=False).first.click()
    talk.page.locator(".toast").wait_for()
    talk.page.wait_for_timeout(300)


def marked(talk: Talk) -> None:
    """Conversations that are pinned, unread, and hidden behind others."""
    listed(talk)
    talk.page.get_by_role("button", name="Pin A packing list").click()
    talk.page.get_by_role("heading", name="Pinned").wait_for()
    talk.page.evaluate(
        "async () => { const { chat } = document.querySelector('headrace-chat');"
        " await chat.change(chat.store.conversations[0].id, { is_unread: true }); }"
    )
    talk.page.locator(".title.unread").wait_for()


def collapsed(talk: Talk) -> None:
    """Without the list."""
    talk.ask(_TITLES[0])
    talk.page.keyboard.press("Control+b")
    talk.page.wait_for_timeout(100)


def settings(talk: Talk) -> None:
    """The settings of a server without users."""
    talk.ask(_TITLES[0])
    talk.page.keyboard.press("Control+,")
    talk.page.get_by_role("dialog").wait_for()
    talk.page.wait_for_timeout(250)


def account(talk: Talk) -> None:
    """The settings of somebody who has signed in."""
    page = talk.page
    person = {"user": "anna", "role": "user", "carrier": "cookie", "settings": {}}
    signed_in = [
        {"id": "a", "created_ms": 0, "last_used_ms": 1_790_000_000_000, "is_current": True,
         "client": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36"},
        {"id": "b", "created_ms": 0, "last_used_ms": 1_780_000_000_000, "is_current": False,
         "client": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Version/18.0 Safari/604.1"},
    ]  # fmt: skip
    page.route("**/api/account", lambda route: route.fulfill(json=person))
    page.route("**/api/sign-ins", lambda route: route.fulfill(json={"items": signed_in}))
    page.reload()
    talk.until("() => document.querySelector('headrace-chat').chat.account?.user === 'anna'")
    page.keyboard.press("Control+,")
    page.get_by_text("Browsers that are signed in").click()
    page.get_by_text("Change password").first.click()
    page.get_by_role("button", name="Sign out").scroll_into_view_if_needed()
    page.wait_for_timeout(250)


def shortcuts(talk: Talk) -> None:
    talk.page.locator(".scroller").focus()
    talk.page.keyboard.press("?")
    talk.page.get_by_role("dialog").wait_for()
    talk.page.wait_for_timeout(250)


def exports(talk: Talk) -> None:
    """The formats of an export."""
    talk.ask(_TITLES[0])
    talk.page.get_by_role("button", name="Export").click()
    talk.page.get_by_role("dialog").wait_for()
    talk.page.wait_for_timeout(250)


def timeline(talk: Talk) -> None:
    """When an answer did what."""
    talk.ask("What is 12 * 34?")
    talk.page.get_by_role("button", name="Timeline").click()
    talk.page.locator(".lanes").wait_for()
    talk.page.wait_for_timeout(250)


def chinese(talk: Talk) -> None:
    """The page and its settings in Chinese."""
    talk.ask("What is 12 * 34?")
    in_chinese = "document.querySelector('headrace-chat').chat.settings.change({ language: 'zh' })"
    talk.page.evaluate(in_chinese)
    talk.page.locator(".new", has_text="新对话").wait_for(state="attached")
    talk.page.keyboard.press("Control+,")
    talk.page.get_by_role("dialog", name="设置").wait_for()
    talk.page.wait_for_timeout(250)


def found(talk: Talk) -> None:
    """A search that finds something."""
    for title in _TITLES[:3]:
        talk.ask(title)
        talk.page.goto(talk.url + "/#/")
        talk.page.locator(".hello").wait_for()
    _open_list(talk)
    talk.page.get_by_label("Search conversations").fill("norway")
    expect(talk.page.locator(".list .title")).to_have_count(1)


def nothing_found(talk: Talk) -> None:
    talk.ask(_TITLES[0])
    _open_list(talk)
    talk.page.get_by_label("Search conversations").fill("elephants")
    talk.page.locator(".none").wait_for()


def editing(talk: Talk) -> None:
    """A question is edited."""
    talk.ask(_TITLES[1])
    talk.page.locator(".said").hover()
    talk.page.get_by_role("button", name="Edit").click()


def _attach(talk: Talk) -> None:
    files = [
        FilePayload(name="harbor.png", mimeType="image/png", buffer=draw_picture()),
        FilePayload(name="plan for the winter.pdf", mimeType="application/pdf", buffer=PDF),
    ]
    with talk.page.expect_file_chooser() as chooser:
        talk.page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files(files)
    expect(talk.page.locator(".file img")).to_have_count(1)
    expect(talk.page.locator(".file progress")).to_have_count(0)


def attached(talk: Talk) -> None:
    """Files in the composer."""
    _attach(talk)
    talk.composer.fill("What is this?")


def attachment_refused(talk: Talk) -> None:
    """A file that cannot be sent."""
    with talk.page.expect_file_chooser() as chooser:
        talk.page.get_by_role("button", name="Attach files").click()
    bad = FilePayload(name="archive.zip", mimeType="application/zip", buffer=b"PK\x03\x04\0")
    chooser.value.set_files([bad])
    talk.page.get_by_role("alert").wait_for()


def sent_files(talk: Talk) -> None:
    """Files in a question."""
    _attach(talk)
    talk.ask("What is this?")
    talk.page.locator("headrace-user-message img").wait_for()


def not_sent(talk: Talk) -> None:
    """The server cannot be reached."""
    talk.page.route("**/api/chat", lambda route: route.abort())
    talk.send(_TITLES[0])
    talk.page.get_by_role("button", name="Retry").wait_for()
    talk.page.wait_for_timeout(300)


def offline(talk: Talk) -> None:
    """The connection is lost during an answer."""
    live(talk)
    talk.page.context.set_offline(True)
    # An open stream survives the switch; it is broken as a lost network breaks it.
    talk.page.evaluate("() => document.querySelector('headrace-chat').chat.sessions.drop()")
    talk.page.locator(".offline").wait_for()


def sign_in_with_password(talk: Talk) -> None:
    """The server has users."""
    refused = {"error": {**_UNAUTHORIZED["error"], "sign_in": ["password", "token"]}}
    talk.page.route("**/api/**", lambda route: route.fulfill(status=401, json=refused))
    talk.page.reload()
    talk.page.get_by_label("User name").fill("anna")
    talk.page.get_by_label("Password").fill("wrong")
    talk.page.get_by_label("Password").press("Enter")
    talk.page.get_by_role("alert").wait_for()


def sign_in(talk: Talk) -> None:
    """The server wants a token."""
    talk.page.route("**/api/**", lambda route: route.fulfill(status=401, json=_UNAUTHORIZED))
    talk.page.reload()
    talk.page.get_by_label("Access token").wait_for()


_UNAUTHORIZED = {"error": {"code": "unauthorized", "message": "An access token is needed."}}


def _embed(talk: Talk, **options: Any) -> Talk:
    """Show the chat in a page of somebody else."""
    talk.page.goto(f"{talk.url}/healthz")
    talk.page.evaluate(script("host"), {"count": 1, "width": 300, "attributes": {}, **options})
    return Talk(talk.page, talk.url)


def panel(talk: Talk) -> None:
    _embed(talk, attributes={"layout": "panel"}).ask(_TITLES[0])


def bubble(talk: Talk) -> None:
    inside = _embed(talk, attributes={"layout": "bubble"})
    talk.page.get_by_role("button", name="Open the chat").click()
    inside.ask(_TITLES[0])


STATES: tuple[Callable[[Talk], None], ...] = (
    queued, listed, renaming, deleted, marked, collapsed, found, nothing_found, editing, attached,
    attachment_refused, sent_files, not_sent, offline, sign_in, sign_in_with_password, settings,
    account, shortcuts, exports, timeline, chinese, panel, bubble,
)  # fmt: skip
