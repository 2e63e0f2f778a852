"""`headrace inspect --otlp`: the spans of a stored run, after the fact."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from headrace.cli.main import main
from headrace.rehearsal.clock import run_virtual
from headrace.telemetry.otlp import to_otlp
from headrace.telemetry.span_builder import build_spans
from tests.engine.resume.scenes import SCENES, through_json
from tests.otel.traced import TracedPlayer, Traces, own_id, parent_id, trace_id
from tests.unit.cli.folder import kept

Capture = pytest.CaptureFixture[str]
_IDS = ("traceId", "spanId", "parentSpanId")


def parse(text: str | bytes) -> Any:
    """Read OTLP JSON strictly. It writes ids in hexadecimal, and protocol buffers in base64."""

    def convert(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {
            name: base64.b64encode(bytes.fromhex(value)).decode() if name in _IDS else value
            for name, value in pairs
        }

    message: Any = ExportTraceServiceRequest()
    return json_format.ParseDict(json.loads(text, object_pairs_hook=convert), message)


def spans_of(request: Any) -> list[Any]:
    return [
        span
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_a_stored_run_is_exported(tmp_path: Path, capsys: Capture) -> None:
    kept(tmp_path, "What is it like in Oslo?")
    assert main(["inspect", "--otlp", "-", "last", "--data", str(tmp_path)]) == 0
    request = parse(capsys.readouterr().out)
    (resource,) = request.resource_spans
    assert resource.resource.attributes[0].value.string_value == "headrace"
    spans = spans_of(request)
    assert [span.name for span in spans] == [
        "invoke_agent default",
        "chat test",
        "execute_tool weather",
        "chat test",
    ]
    root, *others = spans
    assert {span.parent_span_id for span in others} == {root.span_id}
    assert {span.trace_id for span in spans} == {root.trace_id}
    assert all(
        root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        for span in others
    )
    # The same ids each time: a collector that has them already keeps one of each.
    assert (
        main(["inspect", "--otlp", str(tmp_path / "run.json"), "last", "--data", str(tmp_path)])
        == 0
    )
    assert parse((tmp_path / "run.json").read_bytes()) == request
    assert "Oslo" not in (tmp_path / "run.json").read_text()


@pytest.mark.parametrize("name", list(SCENES))
def test_the_export_has_the_spans_that_were_recorded(name: str) -> None:
    traces = Traces()
    dialect = SCENES[name].choose_dialect("chat")
    half = run_virtual(TracedPlayer(SCENES[name], dialect, traces).start())
    traces.exporter.clear()
    cut = through_json(half[: len(half) // 2])
    records = run_virtual(TracedPlayer(SCENES[name], dialect, traces).resume(cut))
    request = parse(json.dumps(to_otlp(build_spans(records), version="1")))
    exported = {
        (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex() or None, span.name)
        for span in spans_of(request)
    }
    assert exported == {(trace_id(s), own_id(s), parent_id(s), s.name) for s in traces.spans}
    links = [link.span_id.hex() for span in spans_of(request) for link in span.links]
    assert links == [own_id(s) for s in traces.spans if s.parent is None and not s.links]


def test_a_stream_has_no_spans(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "answer.sse"
    file.write_bytes(
        b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n'
    )
    assert main(["inspect", "--otlp", "-", str(file)]) == 1
    assert "only those have spans" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path, capsys: Capture) -> None:
    kept(tmp_path, "What is it like in Oslo?")
    where = str(tmp_path / "no" / "run.json")
    assert main(["inspect", "--otlp", where, "last", "--data", str(tmp_path)]) == 1
    assert "cannot write" in capsys.readouterr().err
