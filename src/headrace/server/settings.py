"""How a server is set up."""

from __future__ import annotations

from pathlib import Path

import msgspec

from headrace.encoders import Effort
from headrace.encoders.chat.quirks import EFFORTS


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds and places of a server. All of it may be left as it is."""

    data: Path
    """The folder that everything is kept in."""
    is_durable: bool = False
    """Wait for the disk at every commit: survives a power cut, and costs most of the speed."""
    needs_token: bool = False
    """Whether every request must name its user by a token."""
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """The names under which the server may be reached."""
    prefix: str = ""
    """What a proxy has taken away in front of each path, such as `/chat`."""
    max_body_bytes: int = 1_000_000
    """The longest body of a request."""
    max_live_runs: int = 500
    """Answers that are being written, of all users together."""
    max_live_runs_per_user: int = 20
    """The same of one user, where there are tokens."""
    asks_per_minute: int = 60
    """How often one user may ask, where there are tokens; all of it may come at once."""
    efforts: tuple[Effort, ...] = EFFORTS
    """The efforts that a request may ask for."""
    heartbeat_s: float = 15.0
    """How long a stream may be silent before a comment is sent."""
    send_timeout_s: float = 30.0
    """How long a watcher may read nothing before it is let go; it can resume."""
    drain_s: float = 10.0
    """How long runs may go on when the server is told to stop."""
    keep_logs_s: float = 7 * 24 * 3600.0
    """How long the records of a run are kept after its end."""
