"""The long streams in a browser as a section of the page."""

from __future__ import annotations

from bench.goal import Goal
from bench.page.contest import SIZES, Pages, Sample
from bench.page.opening import LINK_BYTES_S, LINK_LATENCY_MS, MESSAGES

_TEXT = """## The web UI

A long answer in Chromium: reasoning first, then 20,000 characters of text, as Markdown with
paragraphs, lists and code, in deltas of 16 characters, eight of them every 8 ms. The UI of Headrace
and the other one read the same stream of the same server: React with Streamdown, which renders once
per frame and scrolls to the newest text. *Main thread* is CPU time, *longest task* is wall time.
"""


def section(pages: Pages | None) -> str:
    """The table."""
    if pages is None:
        return _TEXT + "\nNot measured here: there was no Chromium, or no build of the peer."
    lines = [
        _TEXT,
        "| | characters | main thread, s | × Headrace | longest task, ms | heap, MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for chars in SIZES:
        ours, peer = pages.ours[chars], pages.peer[chars]
        lines += [_row("**Headrace**", chars, ours, ours), _row("React", chars, peer, ours)]
    opening = pages.opening
    lines += [
        "",
        f"A conversation of {MESSAGES:,} messages is opened in {opening.long_task_s * 1_000:.0f} ms"
        f" of the main thread. On a slow link ({LINK_BYTES_S // 1_000} kB/s, {LINK_LATENCY_MS} ms)"
        f" something is painted after {opening.paint_s:.1f} s, and the composer is there after"
        f" {opening.ready_s:.1f} s.",
    ]
    return "\n".join(lines)


def page_goals(pages: Pages | None) -> list[Goal]:
    """What the web UI promises."""
    if pages is None:
        return []
    short, long = SIZES
    ours, opening = pages.ours, pages.opening
    shares = [
        Goal(f"page vs React, {chars:,}", ours[chars].task_s / pages.peer[chars].task_s, 0.333)
        for chars in SIZES
    ]
    longest_ms = max(one.longest_ms for one in ours.values())
    return [
        *shares,
        # Linear is 3.25; a tenth of it for the noise.
        Goal(f"page, {long / short:g} times the text", ours[long].task_s / ours[short].task_s, 3.6),
        Goal("page, longest task", longest_ms, 50, unit=" ms"),
        Goal(f"page, {MESSAGES:,} messages", opening.long_task_s * 1_000, 300, unit=" ms"),
        Goal("page, first paint on a slow link", opening.paint_s, 2.5, unit=" s"),
    ]


def _row(name: str, chars: int, sample: Sample, ours: Sample) -> str:
    cells = [
        name,
        f"{chars:,}",
        f"{sample.task_s:.2f}",
        f"{sample.task_s / ours.task_s:.2f}",
        f"{sample.longest_ms:.0f}",
        f"{sample.heap_mb:.0f}",
    ]
    return "| " + " | ".join(cells) + " |"
