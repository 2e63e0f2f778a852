"""OpenTelemetry: print the spans of a run as a tree. Needs the extra `otel`."""

import os

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from headrace import Agent, OpenTelemetry, calculator

# An application exports its spans with OTLP instead, and calls `trace.set_tracer_provider()`.
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))

agent = Agent(
    os.environ.get("HEADRACE_MODEL", "rehearsal:demo"),
    tools=[calculator],
    middleware=[OpenTelemetry(agent_name="abacus", tracer_provider=provider)],
)


def print_tree(spans: list[ReadableSpan], parent_id: int | None = None, indent: int = 0) -> None:
    """Print the spans below a parent, with what they have consumed."""
    for span in sorted(spans, key=lambda span: span.start_time or 0):
        if (span.parent.span_id if span.parent else None) == parent_id and span.context:
            about = span.attributes or {}
            tokens = about.get("gen_ai.usage.output_tokens")
            known = f"  ({tokens} output tokens)" if tokens else ""
            print("  " * indent + span.name + known)
            print_tree(spans, span.context.span_id, indent + 1)


print(agent.complete("What is 12 * 34?").text.strip())
print()
print_tree(list(exporter.get_finished_spans()))
