"""Opening the page: a long conversation, and the first paint on a slow link."""

from __future__ import annotations

import json
import statistics
import urllib.request
from dataclasses import dataclass
from typing import Any

MESSAGES = 1_000
LINK_BYTES_S = 50_000
LINK_LATENCY_MS = 600
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


@dataclass(frozen=True)
class Opening:
    """What it costs to open the page."""

    long_task_s: float
    """CPU time of the main thread for a conversation of many messages."""
    paint_s: float
    """Time until something is painted on a slow link."""
    ready_s: float
    """Time until a question can be asked on a slow link."""


def fill_conversation(url: str) -> str:
    """Ask until a conversation has `MESSAGES` messages. Returns its id."""
    conversation_id = ""
    for number in range(MESSAGES // 2):
        body: dict[str, Any] = {"message": f"Question {'x' * (number % 7)}"}
        if conversation_id:
            body["conversation_id"] = conversation_id
        request = urllib.request.Request(
            f"{url}/api/chat", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            response.read()
            conversation_id = conversation_id or str(response.headers["x-conversation-id"])
    return conversation_id


def measure_opening(browser: Any, url: str, conversation_id: str, rounds: int) -> Opening:
    """Measure several times; medians."""
    paints = [_measure_slow_link(browser, url) for _ in range(rounds)]
    return Opening(
        long_task_s=statistics.median(
            _measure_long(browser, url, conversation_id) for _ in range(rounds)
        ),
        paint_s=statistics.median(paint for paint, _ in paints),
        ready_s=statistics.median(ready for _, ready in paints),
    )


def _measure_long(browser: Any, url: str, conversation_id: str) -> float:
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    page = context.new_page()
    page.goto(url)
    page.locator("headrace-composer textarea").wait_for()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = _read_task_s(session)
    page.evaluate("(id) => { location.hash = `#/c/${id}`; }", conversation_id)
    page.locator("headrace-assistant-message .cost").last.wait_for()
    page.wait_for_timeout(500)
    spent_s = _read_task_s(session) - before
    context.close()
    return spent_s


def _read_task_s(session: Any) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


def _measure_slow_link(browser: Any, url: str) -> tuple[float, float]:
    context = browser.new_context(viewport={"width": 390, "height": 740})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": LINK_LATENCY_MS,
            "downloadThroughput": LINK_BYTES_S,
            "uploadThroughput": LINK_BYTES_S,
        },
    )
    page.goto(url, wait_until="commit")
    page.locator("headrace-composer textarea").wait_for(timeout=60_000)
    ready_ms = page.evaluate("() => performance.now()")
    paint_ms = page.evaluate(_PAINTED)
    context.close()
    return paint_ms / 1_000, ready_ms / 1_000
