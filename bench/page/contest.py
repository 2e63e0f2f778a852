"""Long streams in a real browser: Headrace's page beside React with Streamdown, in turns."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.page.opening import MESSAGES, Opening, fill_conversation, measure_opening

SIZES = (80_000, 260_000)
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE_S = 120.0
_FINISHED = (
    "document.querySelector('headrace-chat').shadowRoot"
    ".querySelector('headrace-assistant-message:last-of-type .cost') !== null"
)
_LONG_TASKS = (
    "window.longest = 0; new PerformanceObserver((list) => { for (const one of list.getEntries())"
    " window.longest = Math.max(window.longest, one.duration); })"
    ".observe({ type: 'longtask', buffered: true });"
)


@dataclass(frozen=True)
class Sample:
    """What one stream cost the main thread of a page."""

    task_s: float
    longest_ms: float
    heap_mb: float
    nodes: int


@dataclass(frozen=True)
class Pages:
    """Both contestants, by the length of the stream; medians."""

    ours: dict[int, Sample]
    peer: dict[int, Sample]
    opening: Opening


def pages(rounds: int, tell: Callable[[str], None]) -> Pages | None:
    """Measure; None where there is no browser, or the peer is not built."""
    browser = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if browser is None or not (Path(__file__).parent / "build" / "peer.js").is_file():
        tell("no Chromium, or the peer's page is not built: pages are left out")
        return None
    samples: dict[tuple[str, int], list[Sample]] = {}
    with _server() as url, _opened(browser) as chromium:
        for number in range(rounds):
            for chars in SIZES:
                for name, measure in (("ours", _ours), ("peer", _peer)):
                    tell(f"page {name}, {chars} characters, round {number + 1} of {rounds}")
                    samples.setdefault((name, chars), []).append(measure(chromium, url, chars))
        tell(f"page with {MESSAGES:,} messages, and on a slow link")
        opening = measure_opening(chromium, url, fill_conversation(url), rounds)
    medians = {key: _median(some) for key, some in samples.items()}
    return Pages(
        ours={chars: medians["ours", chars] for chars in SIZES},
        peer={chars: medians["peer", chars] for chars in SIZES},
        opening=opening,
    )


def _median(samples: list[Sample]) -> Sample:
    return Sample(
        task_s=statistics.median(one.task_s for one in samples),
        longest_ms=statistics.median(one.longest_ms for one in samples),
        heap_mb=statistics.median(one.heap_mb for one in samples),
        nodes=round(statistics.median(one.nodes for one in samples)),
    )


@contextmanager
def _server() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder) / "port"
        process = subprocess.Popen([sys.executable, "-m", "bench.page.server", str(port_file)])
        try:
            end_s = time.monotonic() + 20
            while not (port_file.exists() and port_file.read_text()):
                assert time.monotonic() < end_s, "the server does not start"
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port_file.read_text()}"
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def _ours(browser: Any, url: str, chars: int) -> Sample:
    def begin(page: Any) -> None:
        page.goto(url)
        page.locator("headrace-composer textarea").fill(str(chars))

    def go(page: Any) -> None:
        page.keyboard.press("Enter")
        _until(page, _FINISHED, "Headrace never answers")

    return _measured(browser, begin, go)


def _peer(browser: Any, url: str, chars: int) -> Sample:
    def begin(page: Any) -> None:
        page.goto(f"{url}/peer#{chars}")
        _until(page, "document.title === 'ready'", "the peer is never ready")

    def go(page: Any) -> None:
        page.keyboard.press("Enter")
        _until(page, "document.title === 'done'", "the peer is never done")

    return _measured(browser, begin, go)


def _until(page: Any, condition: str, otherwise: str) -> None:
    """Wait for a condition, asked in the same cheap way of both pages.

    A locator of Playwright searches all elements each time, which would count as work of the page.
    """
    end_s = time.monotonic() + _PATIENCE_S
    while not page.evaluate(condition):
        assert time.monotonic() < end_s, otherwise
        time.sleep(0.2)


def _measured(browser: Any, begin: Callable[[Any], None], go: Callable[[Any], None]) -> Sample:
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    page = context.new_page()
    page.add_init_script(_LONG_TASKS)
    begin(page)
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.evaluate("() => { window.longest = 0; }")
    before = _metrics(session)
    go(page)
    time.sleep(0.5)
    after = _metrics(session)
    sample = Sample(
        task_s=after["TaskDuration"] - before["TaskDuration"],
        longest_ms=page.evaluate("() => window.longest"),
        heap_mb=after["JSHeapUsedSize"] / 1e6,
        nodes=int(after["Nodes"]),
    )
    context.close()
    return sample


def _metrics(session: Any) -> dict[str, float]:
    told = session.send("Performance.getMetrics")["metrics"]
    return {one["name"]: one["value"] for one in told}
