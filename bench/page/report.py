"""The long streams in a browser as a section of the page."""

from __future__ import annotations

from bench.page.contest import SIZES, Pages, Sample

_TEXT = """## The page

A long answer in a real Chromium: reasoning first, then 20,000 characters of text, as markdown with
paragraphs, lists and code, in deltas of 16 characters, eight a tick of 8 ms. Headrace's page and
the peer read the same stream of the same server: React with Streamdown, which takes what came once
a frame and follows the newest words. *Main thread* is its CPU time, *longest task* is wall time.
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
