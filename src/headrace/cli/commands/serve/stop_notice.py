"""What `headrace serve` prints when it is told to stop."""

from __future__ import annotations

from headrace.cli.terminal.output import silence_stdout


def print_stop(text: str) -> None:
    """Print what is waited for. If nobody reads the output any more, the runs are drained all the
    same."""
    try:
        print(f"Stopping: {text}", flush=True)
    except OSError:
        silence_stdout()
