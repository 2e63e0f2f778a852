"""The loggers of Headrace, one for each layer, silent until the application adds a handler.

Records have the attribute `event`, which names what happened, and further attributes such as
`status` or `pause_s`. Keys, prompts and answers are never logged, nor are error messages, which may
quote them.
"""

from __future__ import annotations

import logging
from typing import Literal, TypeAlias

Layer: TypeAlias = Literal["wire", "transport", "mcp", "turn", "engine", "server", "access"]

# Without a handler, Python would print warnings on stderr.
logging.getLogger("headrace").addHandler(logging.NullHandler())


def get_logger(layer: Layer) -> logging.Logger:
    """Return the logger of a layer, such as `headrace.transport`."""
    return logging.getLogger(f"headrace.{layer}")
