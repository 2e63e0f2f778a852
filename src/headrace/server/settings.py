"""Settings of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from headrace.encoders import Effort
from headrace.encoders.chat.quirks import EFFORTS

DEFAULT_AGENT = "default"
"""Name of the agent of a server that has only one."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a server; each but `data` has a default."""

    data: Path
    """The folder in which everything is stored."""
    is_durable: bool = False
    """Wait for the disk at every commit: safe against power cuts, but much slower."""
    needs_token: bool = False
    """Whether every request must carry an access token, which names its user."""
    needs_sign_in: bool = False
    """Whether people sign in with a name and a password. Programs use access tokens."""
    sign_in_idle_s: float = 14 * 24 * 3600.0
    """Time after which an unused sign-in ends."""
    sign_in_max_s: float = 90 * 24 * 3600.0
    """Time after which every sign-in ends."""
    trusted_user_header: str = ""
    """The header in which a trusted proxy names the user of a request, such as `X-Remote-User`."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose headers count, such as `10.0.0.5` or `10.1.0.0/16`."""
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """Host names under which the server may be reached."""
    origins: tuple[str, ...] = ()
    """Origins whose pages may use the server from a browser, such as `https://app.example.org`."""
    prefix: str = ""
    """The path under which a proxy serves it and which the proxy removes, such as `/chat`."""
    max_body_bytes: int = 1_000_000
    """Longest body of a request."""
    max_upload_bytes: int = 32_000_000
    """Longest body of a request whose protocol sends images, files and whole conversations."""
    max_live_runs: int = 500
    """Most answers written at once, for all users together."""
    max_watchers_per_run: int = 200
    """Most streams of one answer that are open at once."""
    max_watchers_per_user: int = 100
    """Most streams of one user that are open at once, if the server has users."""
    max_live_runs_per_user: int = 20
    """Most answers written at once for one user, if the server has users."""
    asks_per_minute: int = 60
    """Most questions of one user per minute, if the server has users; bursts are allowed."""
    searches_per_minute: int = 120
    """Most searches of one user per minute; bursts are allowed. Without users there is one."""
    max_stored_bytes_per_user: int = 1_000_000_000
    """Most bytes of messages and records stored for one user. Without users there is one."""
    efforts: tuple[Effort, ...] = EFFORTS
    """Efforts that a request may ask for."""
    heartbeat_s: float = 15.0
    """Silence on a stream after which a comment is sent to keep it open."""
    send_timeout_s: float = 20.0
    """Time after which a client that reads nothing of a response is disconnected; a stream can be
    resumed."""
    head_timeout_s: float = 10.0
    """Time in which a client must send the head of a request, from the start of the connection."""
    body_timeout_s: float = 30.0
    """Time in which a client must send the body of a request."""
    max_connections: int = 5_000
    """Most open connections. If there are more, those without a complete request are closed. Half
    of the files that the process may open is a limit too."""
    max_waiting_per_address: int = 256
    """Most open connections of one address that have not sent a complete request head."""
    drain_s: float = 10.0
    """Time that live runs get to finish when the server stops."""
    on_interrupt: Literal["close", "continue"] = "close"
    """What happens to runs that were going on when the server was stopped or killed: they end as
    interrupted, or the next server continues them."""
    lease_s: float = 15.0
    """Time after which other servers take the runs of one that is gone, if several servers share a
    database."""
    waiting_stream_s: float = 300.0
    """Time that the stream of a run stays open while the run waits for input."""
    keep_logs_s: float = 7 * 24 * 3600.0
    """Time that the records of a run are kept after its end."""
    keep_conversations_s: float | None = None
    """Time that a conversation is kept after the last thing that has happened in it; None keeps it
    until somebody deletes it."""
    has_final_text: bool = False
    """Whether `reasoning_part_completed` of the ux protocol repeats the whole text of the part."""

    reasoning_events: Literal["openai", "open_responses"] = "openai"
    """How the Responses API streams raw reasoning: as `response.reasoning_text.delta`, which the
    clients of OpenAI read, or as `response.reasoning.delta` of the Open Responses specification."""

    @property
    def has_users(self) -> bool:
        """Whether a request must name its user, in one way or another."""
        return self.needs_token or self.needs_sign_in or bool(self.trusted_user_header)

    @property
    def projection_options(self) -> dict[str, dict[str, Any]]:
        """Options of the projections, by the name of the protocol."""
        return {
            "ux": {"has_final_text": self.has_final_text},
            "openai-responses": {"reasoning_events": self.reasoning_events},
        }
