"""`python -m bench`: measure everything in one run, print the goals, write the page."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

# litellm asks the network for prices when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from bench import contest
from bench.agents import agents as contest_of_agents
from bench.agents import crowd
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
from bench.report import MSGSPEC, OURS, OURS_USED, Figures, goals, page, storage_goals
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
    parser.add_argument("--load", action="store_true", help="the server under load alone")
    parser.add_argument("--path", action="store_true", help="CPU of the whole path alone")
    parser.add_argument("--long-runs", action="store_true", help="waiting and long runs alone")
    parser.add_argument("--gateway", action="store_true", help="the gateway under load alone")
    parser.add_argument("--storage", action="store_true", help="disk, searches and restart alone")
    parser.add_argument("--stores", action="store_true", help="SQLite, PostgreSQL and Valkey alone")
    parser.add_argument("--clouds", action="store_true", help="Bedrock and Cohere alone")
    parser.add_argument("--typed", action="store_true", help="typed results alone")
    parser.add_argument("--tracing", action="store_true", help="OpenTelemetry alone")
    parser.add_argument("--page", action="store_true", help="the page in a browser alone")
    options = parser.parse_args()
    if options.load:
        print(load_section(under_load(_tell, is_quick=options.quick)))
        return
    if options.path:
        server_path = measure_path(_tell, is_quick=options.quick)
        print(path_section(server_path), "", *server_path.goals(), sep="\n")
        return
    if options.long_runs:
        long_runs = measure_long_runs(_tell, is_quick=options.quick)
        print(long_runs_section(long_runs), "", *long_runs.goals(), sep="\n")
        return
    if options.gateway:
        measured_gateways = measure_gateways(_tell, is_quick=options.quick)
        print(gateway_section(measured_gateways))
        print("", *measured_gateways.goals(), sep="\n")
        return
    if options.storage:
        storage = measure_storage(_tell, is_quick=options.quick)
        print(storage_section(storage))
        print("\n".join(map(str, storage_goals(storage))))
        return
    if options.stores:
        stores = measure_stores(_tell, is_quick=options.quick)
        print(stores_section(stores), "", *stores.goals(), sep="\n")
        return
    if options.clouds:
        _print_clouds(is_quick=options.quick)
        return
    if options.typed:
        _print_typed(is_quick=options.quick)
        return
    if options.tracing:
        costs = measure_tracing(_tell, is_quick=options.quick)
        print(tracing_section(costs), "", *tracing_goals(costs), sep="\n")
        return
    if options.page:
        shown = pages(1 if options.quick else 3, _tell)
        print(page_section(shown), "", *page_goals(shown), sep="\n")
        return
    figures = _measure(scale=10 if options.quick else 1, fewer=3 if options.quick else 1)
    verdicts = goals(figures)
    print("\n".join(map(str, verdicts)))
    if not (options.quick or options.no_write):
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(figures, verdicts))
        _tell(f"wrote {PAGE.name}")


def _print_clouds(*, is_quick: bool) -> None:
    events, fewer = (EVENTS // 10, 3) if is_quick else (EVENTS, 1)
    for measure, unit in ((contest.bedrock, "message"), (contest.cohere, "event")):
        print(contest.contest_section(measure(events, fewer, _tell), unit) + "\n")


def _print_typed(*, is_quick: bool) -> None:
    measured = typed(*((5, 3) if is_quick else (1, 1)), _tell)
    print("\n\n".join(map(str.strip, typed_sections(measured))))
    print("", *typed_goals(measured), sep="\n")


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
        imports=imports,
        help_ms=help_cost_ms(15 // fewer),
    )


_started = time.monotonic()


def _tell(what: str) -> None:
    print(f"[{time.monotonic() - _started:4.0f}s] {what}", file=sys.stderr)


if __name__ == "__main__":
    main()
