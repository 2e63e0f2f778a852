"""Joins the metrics of several workers into one answer, with a label that names the worker."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_SAMPLE: Final = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_UP = "headrace_worker_up"


def join_metrics(texts: Mapping[int, str | None]) -> str:
    """Return the metrics of all workers in the text format of Prometheus. `texts` has what each
    worker says, by its number, and None for one that does not answer."""
    families: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for number, text in texts.items():
        name = ""
        for line in (text or "").splitlines():
            if line.startswith("# "):
                name = line.split(" ", 3)[2]
                head = families.setdefault(name, [])
                if line not in head:
                    head.append(line)
            else:
                samples.setdefault(name, []).append(_add_label(line, number))
    lines = [f"# HELP {_UP} Whether a worker answers.", f"# TYPE {_UP} gauge"]
    lines += [f'{_UP}{{worker="{k}"}} {int(text is not None)}' for k, text in texts.items()]
    for name, head in families.items():
        lines += [*head, *samples.get(name, [])]
    return "\n".join(lines) + "\n"


def _add_label(line: str, number: int) -> str:
    found = _SAMPLE.fullmatch(line)
    if found is None:
        return line
    name, labels, value = found.groups()
    others = f",{labels}" if labels else ""
    return f'{name}{{worker="{number}"{others}}} {value}'
