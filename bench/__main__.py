"""`python -m bench`: measure everything in one run, print the goals, write the page."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

# litellm asks the network for prices when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from bench import contest
from bench.agents import ENGINE, crowd
from bench.agents import agents as contest_of_agents
from bench.growth import growths
from bench.imports import help_cost_ms, import_costs
from bench.load.gateway import gateway_section, measure_gateways
from bench.load.load import under_load
from bench.load.path import measure_path, path_section
from bench.load.report import section as load_section
from bench.load.stores import measure_stores, stores_section
from bench.long_runs import measure_long_runs
from bench.long_runs import section as long_runs_section
from bench.page.contest import pages
from bench.page.report import page_goals
from bench.page.report import section as page_section
from bench.pythons import measure_pythons, pythons_section
from bench.report import MSGSPEC, OURS, OURS_USED, Figures, goals, page, storage_goals, turn_goals
from bench.sockets import whole_path
from bench.storage import measure_storage
from bench.storage import section as storage_section
from bench.streams import EVENTS
from bench.thinking import thinking
from bench.tracing import measure_tracing, tracing_goals, tracing_section
from bench.typed import typed, typed_goals, typed_sections

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
PEER_IMPORTS = ("import openai", "import anthropic", "import pydantic_ai", "import litellm")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; implies --no-write")
    parser.add_argument("--no-write", action="store_true", help="leave docs/performance.md alone")
    for name, (about, _) in _PARTS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"{about} alone")
    options = vars(parser.parse_args())
    is_quick = options["quick"]
    for name, (_, measure) in _PARTS.items():
        if options[name.replace("-", "_")]:
            print(*measure(is_quick), sep="\n")
            return
    figures = _measure(scale=10 if is_quick else 1, fewer=3 if is_quick else 1)
    verdicts = goals(figures)
    print("\n".join(map(str, verdicts)))
    if not (is_quick or options["no_write"]):
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(figures, verdicts))
        _tell(f"wrote {PAGE.name}")


# -- the parts that can be measured alone: lines to print


def _load(is_quick: bool) -> list[object]:
    return [load_section(under_load(_tell, is_quick=is_quick))]


def _path(is_quick: bool) -> list[object]:
    measured = measure_path(_tell, is_quick=is_quick)
    return [path_section(measured), "", *measured.goals()]


def _long_runs(is_quick: bool) -> list[object]:
    measured = measure_long_runs(_tell, is_quick=is_quick)
    return [long_runs_section(measured), "", *measured.goals()]


def _gateway(is_quick: bool) -> list[object]:
    measured = measure_gateways(_tell, is_quick=is_quick)
    return [gateway_section(measured), "", *measured.goals()]


def _storage(is_quick: bool) -> list[object]:
    measured = measure_storage(_tell, is_quick=is_quick)
    return [storage_section(measured), "", *storage_goals(measured)]


def _stores(is_quick: bool) -> list[object]:
    measured = measure_stores(_tell, is_quick=is_quick)
    return [stores_section(measured), "", *measured.goals()]


def _clouds(is_quick: bool) -> list[object]:
    events, fewer = (EVENTS // 10, 3) if is_quick else (EVENTS, 1)
    measures = ((contest.bedrock, "message"), (contest.cohere, "event"))
    return [
        contest.contest_section(measure(events, fewer, _tell), unit) + "\n"
        for measure, unit in measures
    ]


def _typed(is_quick: bool) -> list[object]:
    measured = typed(*((5, 3) if is_quick else (1, 1)), _tell)
    return [*map(str.strip, typed_sections(measured)), "", *typed_goals(measured)]


def _tracing(is_quick: bool) -> list[object]:
    measured = measure_tracing(_tell, is_quick=is_quick)
    return [tracing_section(measured), "", *tracing_goals(measured)]


def _turns(is_quick: bool) -> list[object]:
    events, fewer = (EVENTS // 10, 3) if is_quick else (EVENTS, 1)
    measured = contest_of_agents(events, fewer, _tell)
    thoughts = thinking(10 if is_quick else 1, 9 // fewer, _tell)
    return [contest.contest_section(measured, "chunk", ENGINE), "", *turn_goals(measured, thoughts)]


def _pythons(is_quick: bool) -> list[object]:
    return [pythons_section(measure_pythons(_tell, is_quick=is_quick))]


def _page(is_quick: bool) -> list[object]:
    measured = pages(1 if is_quick else 3, _tell)
    return [page_section(measured), "", *page_goals(measured)]


_PARTS: dict[str, tuple[str, Callable[[bool], list[object]]]] = {
    "turns": ("an agent's turn and the projection of thinking", _turns),
    "load": ("the server under load", _load),
    "path": ("CPU of the whole path", _path),
    "long-runs": ("waiting and long runs", _long_runs),
    "gateway": ("the gateway under load", _gateway),
    "storage": ("disk, searches and restart", _storage),
    "stores": ("SQLite, PostgreSQL and Valkey", _stores),
    "clouds": ("Bedrock and Cohere", _clouds),
    "typed": ("typed results", _typed),
    "tracing": ("OpenTelemetry", _tracing),
    "pythons": ("the installed Pythons", _pythons),
    "page": ("the page in a browser", _page),
}


def _measure(scale: int, fewer: int) -> Figures:
    chat = contest.chat(EVENTS // scale, fewer, _tell)
    anthropic = contest.anthropic(EVENTS // scale, fewer, _tell)
    others = [
        contest.responses(EVENTS // scale, fewer, _tell),
        contest.gemini(EVENTS // scale, fewer, _tell),
        contest.ollama(EVENTS // scale, fewer, _tell),
        contest.bedrock(EVENTS // scale, fewer, _tell),
        contest.cohere(EVENTS // scale, fewer, _tell),
    ]
    small_reads = contest.small_reads(2_000 // scale, fewer, _tell)
    path = whole_path(5_000 // scale, fewer, _tell)
    grown = growths(scale, 9 // fewer, _tell)
    thoughts = thinking(scale, 9 // fewer, _tell)
    turns = contest_of_agents(EVENTS // scale, fewer, _tell)
    together = crowd(scale, _tell)
    values = typed(scale, fewer, _tell)
    traced = measure_tracing(_tell, is_quick=scale > 1)
    load = under_load(_tell, is_quick=scale > 1)
    server_path = measure_path(_tell, is_quick=scale > 1)
    gateways = measure_gateways(_tell, is_quick=scale > 1)
    stores = measure_stores(_tell, is_quick=scale > 1)
    storage = measure_storage(_tell, is_quick=scale > 1)
    long_runs = measure_long_runs(_tell, is_quick=scale > 1)
    shown = pages(3 // fewer, _tell)
    pythons = measure_pythons(_tell, is_quick=scale > 1)
    imports = import_costs((OURS, OURS_USED, MSGSPEC), 15 // fewer, _tell)
    imports |= import_costs(PEER_IMPORTS, 3 // fewer, _tell)
    return Figures(
        chat=chat,
        anthropic=anthropic,
        others=others,
        small_reads=small_reads,
        path=path,
        growths=grown,
        thinking=thoughts,
        agents=turns,
        crowd=together,
        typed=values,
        tracing=traced,
        load=load,
        server_path=server_path,
        gateways=gateways,
        stores=stores,
        storage=storage,
        long_runs=long_runs,
        pages=shown,
        pythons=pythons,
        imports=imports,
        help_ms=help_cost_ms(15 // fewer),
    )


_started = time.monotonic()


def _tell(what: str) -> None:
    print(f"[{time.monotonic() - _started:4.0f}s] {what}", file=sys.stderr)


if __name__ == "__main__":
    main()
