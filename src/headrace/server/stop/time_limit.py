"""How long a server that was told to stop may take. Without imports of the server itself, because
the supervisor of several workers needs it too."""

from __future__ import annotations

from typing import Final

RUN_END_S: Final = 4.0
"""For the end of runs that are interrupted after the grace period."""
RUN_ABANDON_S: Final = 2.0
"""For the records that a run gets if it does not end."""
SEND_S: Final = 5.0
"""For clients to read the last frames of their streams after the runs have ended."""
# For everything else that happens between a signal and the end, such as closing the database.
_MARGIN_S: Final = 5.0


def find_stop_limit_s(drain_s: float) -> float:
    """Return the time after a signal at which a server ends itself, whatever keeps it alive."""
    return drain_s + RUN_END_S + RUN_ABANDON_S + SEND_S + _MARGIN_S
