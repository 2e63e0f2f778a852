"""`RunStatistics`: what the metrics of a server tell about its answers."""

from __future__ import annotations

from collections import Counter

from headrace.messages import Message, ReasoningPart, TextPart
from headrace.telemetry import names
from headrace.telemetry.histogram import Histograms
from headrace.telemetry.measurement import Measurement
from headrace.wire.json.payload import encode_json


class RunStatistics:
    """Counts answers, tokens and cost, and measures durations. It keeps no content."""

    def __init__(self) -> None:
        self.histograms = Histograms()
        """Durations of HTTP requests and of answers, and the times to their first words."""
        self._answers: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._cost = 0.0

    def add(self, message: Message, started_ms: int, ended_ms: int) -> None:
        """Count an answer that has ended."""
        self._answers[_describe_end(message)] += 1
        usage = message.usage
        self._tokens["input"] += usage.input_tokens or 0
        self._tokens["output"] += usage.output_tokens or 0
        self._tokens["reasoning"] += usage.reasoning_tokens or 0
        self._tokens["cached_input"] += usage.cached_input_tokens or 0
        self._cost += usage.cost or 0.0
        record = self.histograms.record
        record(Measurement(names.AGENT_DURATION, (ended_ms - started_ms) / 1000, {}))
        parts = [part for turn in message.turns for part in turn.parts]
        for metric, kind in (
            (names.TIME_TO_FIRST_REASONING, ReasoningPart),
            (names.TIME_TO_FIRST_TEXT, TextPart),
        ):
            first_ms = next((part.started_ms for part in parts if isinstance(part, kind)), None)
            if first_ms is not None:
                record(Measurement(metric, (first_ms - started_ms) / 1000, {}))

    def format(self) -> list[str]:
        """Return the lines of the counters, in the format of Prometheus."""
        return [
            *_format("answers_total", "Answers that have ended.", "end", self._answers),
            *_format("tokens_total", "Tokens of all answers.", "kind", self._tokens),
            "# HELP headrace_cost_dollars_total Cost of all answers, as far as it is known.",
            "# TYPE headrace_cost_dollars_total counter",
            f"headrace_cost_dollars_total {self._cost:.6f}",
        ]


def _describe_end(message: Message) -> str:
    """Return how an answer has ended: the category of its error, why it was aborted, or its finish
    reason."""
    if message.error is not None:
        return message.error.category
    finish = message.finish
    if finish is None:
        return "unknown"
    return finish.kind or finish.word


def _format(name: str, description: str, label: str, counts: Counter[str]) -> list[str]:
    name = f"headrace_{name}"
    return [
        f"# HELP {name} {description}",
        f"# TYPE {name} counter",
        *(f"{name}{{{label}={encode_json(key)}}} {count}" for key, count in counts.items()),
    ]
