"""A server with OpenTelemetry: spans of HTTP requests, metrics, and runs that were killed."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from headrace import events as ev
from headrace.otel import Telemetry
from headrace.rehearsal.script import call, say, think, turn
from headrace.server import create_app
from headrace.server.gateway import read_gateway_config
from headrace.server.runs.recovery import INTERRUPTED
from headrace.telemetry import names
from headrace.telemetry.histogram import Histograms, prometheus_name
from headrace.telemetry.measurement import Measurement
from headrace.telemetry.span_builder import SpanBuilder, build_spans
from headrace.tools import tool
from tests.otel.traced import Traces, check_trees, own_id, parent_id, trace_id
from tests.server.serving import scripted, served

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


@tool
async def look() -> str:
    """Look."""
    return "seen"


def spans_of_runs(traces: Traces) -> list[ReadableSpan]:
    """The spans without those of HTTP requests."""
    operations = ("invoke_agent", "chat", "execute_tool")
    return [span for span in traces.spans if span.name.split()[0] in operations]


def agents() -> Any:
    turns = (turn(think("Hm."), call("look")), turn(say("Hello.")))
    return {"guide": scripted(*turns, tools=[look])}


def test_a_request_continues_the_trace_of_its_client(tmp_path: Path) -> None:
    traces = Traces()

    async def main() -> list[ev.Record]:
        telemetry = traces.create_telemetry()
        async with served(agents(), tmp_path, telemetry=telemetry) as server:
            headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-secret": "hunter22"}
            async with server.open("Hi?", headers=headers) as response:
                await response.read()
            await server.idle()
            await server.get("/api/models?key=hunter22")
            async with server.http.get(f"{server.url}/nothing/here") as response:
                assert response.status == 404
            async with server.http.get(f"{server.url}/healthz") as response:
                assert response.status == 200
            (row,) = await server.service.store.closed_runs(10**15)
            return list(await server.service.log.read(row))

    records = asyncio.run(main())
    by_name = {span.name: span for span in traces.spans}
    request = by_name["POST /api/chat"]
    assert (trace_id(request), parent_id(request)) == (TRACE, PARENT)
    assert request.attributes is not None
    assert request.attributes["http.response.status_code"] == 200
    root = by_name["invoke_agent guide"]
    assert (trace_id(root), parent_id(root)) == (TRACE, own_id(request))
    start = records[0].event
    assert isinstance(start, ev.RunStarted)
    assert isinstance(start.trace, ev.TraceIds)
    assert (start.trace.trace_id, start.trace.span_id) == (TRACE, own_id(root))
    assert start.trace.parent_id == own_id(request)
    of_run = spans_of_runs(traces)
    check_trees(of_run, stretches=1)
    made = build_spans(records, SpanBuilder(agent_name="guide"))
    assert {(s.name, own_id(s)) for s in of_run} == {(s.name, s.ids.span_id) for s in made}
    assert by_name["GET /api/models"].attributes is not None
    missing = by_name["GET"]
    assert missing.attributes is not None
    assert missing.attributes["http.response.status_code"] == 404
    assert not [name for name in by_name if "health" in name]
    assert "hunter22" not in str([span.to_json() for span in traces.spans])


def test_metrics_shows_the_histograms_that_are_exported(tmp_path: Path) -> None:
    traces = Traces()

    async def main() -> str:
        async with served(agents(), tmp_path, telemetry=traces.create_telemetry()) as server:
            await server.ask("Hi?")
            await server.idle()
            async with server.http.get(f"{server.url}/metrics") as response:
                return await response.text()

    text = asyncio.run(main())
    exported = traces.metrics()
    by_name = {metric.name: metric for metric in names.METRICS}
    assert len(exported) >= 8
    for name, points in exported.items():
        shown = prometheus_name(by_name[name])
        counts = re.findall(rf"^{shown}_count{{.*}} (\d+)$", text, re.MULTILINE)
        assert sorted(map(int, counts)) == sorted(point.count for point in points), name
        buckets = re.findall(rf"^{shown}_bucket{{(.*)}} (\d+)$", text, re.MULTILINE)
        assert len(buckets) == len(points) * (len(by_name[name].bounds) + 1)
        for point in points:
            total, sums = 0, []
            for count in point.bucket_counts:
                total += count
                sums.append(total)
            model = point.attributes.get("gen_ai.token.type", "")
            rows = [int(c) for labels, c in buckets if f'"{model}"' in labels or not model]
            assert any(
                rows[at : at + len(sums)] == sums for at in range(0, len(rows), len(sums))
            ), name
    assert 'gen_ai_operation_name="chat"' in text


def test_the_format_of_prometheus_escapes_and_bounds_what_clients_choose() -> None:
    histograms = Histograms()
    for number in range(1_500):
        about: Any = {"gen_ai.request.model": f'm{number}"\n'}
        histograms.record(Measurement(names.OPERATION_DURATION, 0.5, about))
    lines = histograms.format()
    assert all("\n" not in line for line in lines)
    overflow = [line for line in lines if "otel_metric_overflow" in line]
    assert overflow[-1].endswith(" 500")
    assert histograms.count(names.OPERATION_DURATION) == 1_500


@pytest.mark.parametrize("mode", ["close", "continue"])
def test_the_spans_of_a_killed_server_are_made_by_the_next(tmp_path: Path, mode: Any) -> None:
    """The first server loses all that it has recorded."""
    gate = asyncio.Event()

    @tool
    async def hang() -> str:
        """Wait for ever."""
        await gate.wait()
        return "over"

    def create() -> Any:
        turns = (turn(think("Hm."), call("hang")), turn(say("Hello.")))
        return {"guide": scripted(*turns, tools=[hang])}

    lost, traces = Traces(), Traces()

    async def main() -> list[ev.Record]:
        first = lost.create_telemetry()
        async with (
            served(create(), tmp_path / "a", telemetry=first, on_interrupt=mode) as server,
            server.open("Hi?") as response,
        ):
            await response.content.readany()
            (row,) = server.service.runs.rows
            while not has_called(await server.service.log.read(row.id)):
                await asyncio.sleep(0.01)
            # As after a kill: the file as it is at this moment.
            (tmp_path / "b").mkdir()
            await asyncio.to_thread(_copy, tmp_path / "a", tmp_path / "b")
        gate.set()
        second = traces.create_telemetry()
        async with served(create(), tmp_path / "b", telemetry=second, on_interrupt=mode) as server:
            await server.idle()
            return list(await server.service.log.read(row.id))

    records = asyncio.run(main())
    of_run = spans_of_runs(traces)
    stretches = 1 if mode == "close" else 2
    start = records[0].event
    assert isinstance(start, ev.RunStarted)
    assert isinstance(start.trace, ev.TraceIds)
    roots = check_trees(of_run, stretches=stretches)
    assert own_id(roots[0]) == start.trace.span_id
    assert trace_id(roots[0]) == start.trace.trace_id
    assert roots[0].attributes is not None
    assert roots[0].attributes["error.type"] == INTERRUPTED.category
    made = [s.name for s in of_run if trace_id(s) == start.trace.trace_id]
    assert sorted(made) == ["chat test", "execute_tool hang", "invoke_agent guide"]


def has_called(records: Sequence[ev.Record]) -> bool:
    return any(isinstance(record.event, ev.ToolStarted) for record in records)


def _copy(source: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(source / "headrace.db")) as before,
        closing(sqlite3.connect(target / "headrace.db")) as after,
    ):
        before.backup(after)


def test_records_without_telemetry_are_as_they_were(tmp_path: Path) -> None:
    async def main() -> str:
        async with served(agents(), tmp_path) as server:
            await server.ask("Hi?")
            await server.idle()
            async with server.http.get(f"{server.url}/metrics") as response:
                text = await response.text()
            (row,) = await server.service.store.closed_runs(10**15)
            first = (await server.service.log.read(row))[0]
            assert json.loads(ev.encode_record(first))["event"].keys() == {
                "type", "run_id", "model", "effort",
            }  # fmt: skip
            return text

    # Only what the server measures by itself.
    assert "gen_ai_client" not in asyncio.run(main())


GATEWAY = """
[models.fast]
model = "rehearsal:demo"
"""


def test_turns_and_answers_of_the_gateway_are_recorded(tmp_path: Path) -> None:
    traces = Traces()
    file = tmp_path / "providers.toml"
    file.write_text(GATEWAY)
    gateway = read_gateway_config(file)

    async def main() -> None:
        telemetry = traces.create_telemetry()
        async with served(
            agents(), tmp_path / "data", gateway=gateway, telemetry=telemetry
        ) as server:
            asked = {"model": "fast", "messages": [{"role": "user", "content": "Hi?"}]}
            async with server.http.post(f"{server.url}/v1/chat/completions", json=asked) as answer:
                assert answer.status == 200, await answer.text()
            asked = {"model": "fast", "input": "Hi?"}
            async with server.http.post(f"{server.url}/v1/responses", json=asked) as answer:
                assert answer.status == 200, await answer.text()
            await server.idle()

    asyncio.run(main())
    by_id = {own_id(span): span for span in traces.spans}
    chats = [span for span in traces.spans if span.name == "chat demo"]
    above = [by_id[parent_id(span) or ""].name for span in chats]
    assert sorted(above) == ["POST /v1/chat/completions", "invoke_agent fast"]
    assert all((span.attributes or {})["gen_ai.usage.output_tokens"] for span in chats)
    counted = traces.metrics()["gen_ai.client.operation.duration"]
    assert sum(point.count for point in counted) == 2


def test_a_collector_that_does_not_answer_does_not_keep_the_server_alive(tmp_path: Path) -> None:
    released = threading.Event()

    def flush(within_s: float) -> None:
        released.wait()

    telemetry = Telemetry(flush=flush)
    app = create_app(agents(), data=tmp_path, telemetry=telemetry)

    async def main() -> None:
        async with app.router.lifespan_context(app):
            pass

    # The time limit of the test would end it: an event loop waits for its threads.
    asyncio.run(main())
    released.set()
