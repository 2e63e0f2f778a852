"""Runs `headrace record`: a recording proxy on loopback for one provider."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from headrace.cli.terminal.output import print_lines, terminal_columns
from headrace.cli.terminal.safe_text import visible, wrap_text
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.recording.exchange_recorder import ExchangeRecorder, RecordingFolder


class Upstream(NamedTuple):
    """The upstream server: its address, base path and provider."""

    origin: str
    path: str
    title: str
    model: str | None = None
    variable: str | None = None


def run(options: Namespace) -> int:
    """Record until stopped."""
    upstream = _upstream(options)
    shelf = _shelf(Path(options.out))
    asyncio.run(_record(upstream, shelf, options.port))
    _sum_up(shelf)
    return 0


# --- the upstream -----------------------------------------------------------------


def _upstream(options: Namespace) -> Upstream:
    if options.upstream is not None:
        return _split(options.upstream, title="")
    from headrace.providers import CATALOG

    provider = CATALOG.get(options.provider)
    if provider is None:
        raise UsageError(f"no provider {options.provider!r}: headrace providers lists them")
    if provider.transport != "http":
        raise UsageError(f"{provider.title} is not reached over HTTP, so it cannot be recorded")
    base = provider.base_url or os.environ.get(provider.base_url_variable or "")
    if not base:
        raise UsageError(f"{provider.title} has no address of its own: give it with --upstream")
    found = _split(base, title=provider.title)
    return found._replace(model=f"{provider.name}:MODEL", variable=provider.base_url_variable)


def _split(address: str, title: str) -> Upstream:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"expected an http or https address as upstream, not {address!r}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError("an upstream address must not have a user, query or fragment")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    origin = f"{parts.scheme}://{host}{'' if port is None else f':{port}'}"
    return Upstream(origin, parts.path.rstrip("/"), title)


def _shelf(folder: Path) -> RecordingFolder:
    from headrace.engine.middleware.redaction.secret_hider import hide_value
    from headrace.recording.exchange_recorder import RecordingFolder
    from headrace.secrets import API_KEYS, Mask

    mask = Mask(patterns=API_KEYS)
    return RecordingFolder(folder, hide=lambda value: hide_value(mask, value))


# --- recording --------------------------------------------------------------------


async def _record(upstream: Upstream, shelf: RecordingFolder, port: int) -> None:
    from headrace.recording.proxy import HOST, Proxy

    proxy = Proxy(upstream.origin, shelf, on_exchange=_tell, on_refused=_complain)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    try:
        bound = await proxy.start(port)
        _print_start(upstream, shelf, f"http://{HOST}:{bound}{upstream.path}")
        await stopping.wait()
    finally:
        await proxy.aclose()


def _print_start(upstream: Upstream, shelf: RecordingFolder, base_url: str) -> None:
    name = f"{upstream.title} at " if upstream.title else ""
    lines = [f"Recording {name}{upstream.origin} into {visible(str(shelf.folder))}"]
    lines.append(f"base_url: {base_url}")
    if upstream.variable is not None:
        lines.append(f"  export {upstream.variable}={base_url}")
    if upstream.model is not None:
        lines.append(f"  headrace ask -m {upstream.model} --base-url {base_url} …")
    print_lines(*lines, "stop with Ctrl-C")


def _tell(tape: ExchangeRecorder) -> None:
    name = tape.name or "nothing kept"
    facts = [f"{tape.method} {visible(tape.path)}", str(tape.status), f"{tape.took_s:.1f} s"]
    facts.append(f"{tape.bytes:,} bytes in {tape.reads:,} reads")
    if tape.ended != "whole":
        facts.append(visible(tape.ended))
    line = " · ".join([name, *facts])
    if len(line) <= terminal_columns(sys.stdout):
        print_lines(line)
    else:
        print_lines(name, *_indent(" · ".join(facts)))


def _indent(words: str) -> list[str]:
    return [f"  {line}" for line in wrap_text(words, max(terminal_columns(sys.stdout) - 2, 20), 8)]


def _complain(message: str) -> None:
    print(f"headrace record: {visible(message)}", file=sys.stderr, flush=True)


def _sum_up(shelf: RecordingFolder) -> None:
    if not shelf.names:
        print_lines("", "nothing was recorded: did the requests go to the base_url?")
        return
    many = f"{len(shelf.names)} answers" if len(shelf.names) > 1 else "1 answer"
    print_lines(
        "",
        f"{many} in {visible(str(shelf.folder))}; keys are not in them, what was asked is",
        f"look at the last: headrace decode {visible(str(shelf.folder / shelf.names[-1]))}",
    )
