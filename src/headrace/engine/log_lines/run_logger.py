"""Log lines about a run: its start, its end, and steps that are tried again."""

from __future__ import annotations

import time

from headrace.events import RunFailed, RunFinished
from headrace.log import get_logger

_logger = get_logger("engine")


class RunLogger:
    """Logs the start and the end of a run, and the steps that are tried again."""

    def __init__(self, run_id: str, model: str) -> None:
        self._run_id = run_id
        self._model = model
        self._started_s = time.monotonic()

    def log_start(self, *, is_resumed: bool = False) -> None:
        """Log that the run starts, or goes on."""
        word = "resumed" if is_resumed else "started"
        fields = {"event": f"run_{word}", "run_id": self._run_id, "model": self._model}
        _logger.info("run %s %s with %s", self._run_id, word, self._model, extra=fields)

    def log_end(self, end: RunFinished | RunFailed | None) -> None:
        """Log how the run ended: a failed run as a warning. None is a run that was suspended."""
        ms = round(1_000 * (time.monotonic() - self._started_s))
        if end is None:
            fields = {"event": "run_suspended", "run_id": self._run_id, "ms": ms}
            _logger.info("run %s suspended after %d ms", self._run_id, ms, extra=fields)
            return
        fields = {
            "run_id": self._run_id,
            "ms": ms,
            "input_tokens": end.usage.input_tokens,
            "output_tokens": end.usage.output_tokens,
        }
        if isinstance(end, RunFailed):
            fields |= {"event": "run_failed", "category": end.category}
            text = "run %s failed (%s) after %d ms"
            _logger.warning(text, self._run_id, end.category, ms, extra=fields)
            return
        finish = end.reason.kind or end.reason.word
        fields |= {"event": "run_finished", "finish": finish}
        _logger.info("run %s finished (%s) after %d ms", self._run_id, finish, ms, extra=fields)


def log_discarded_step(run_id: str, step: int, category: str, pause_s: float) -> None:
    """Log that what arrived of a step is taken back, and that the model is asked again."""
    fields = {
        "event": "step_discarded",
        "run_id": run_id,
        "step": step,
        "category": category,
        "pause_s": pause_s,
    }
    text = "run %s: step %d broke off (%s) and is tried again in %.1f s"
    _logger.warning(text, run_id, step, category, pause_s, extra=fields)
