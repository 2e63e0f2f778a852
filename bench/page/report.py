"""The long streams in a browser as a section of the page."""

from __future__ import annotations

from bench.page.contest import SIZES, Pages, Sample

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
    return "\n".join(lines)


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
