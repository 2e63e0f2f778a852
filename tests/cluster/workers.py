"""The workers of `headrace serve --workers`, looked at from the outside: which process answers on
which connection is read from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.cluster.places import to_options
from tests.server.server_process import ServerProcess, serve

_TRIES = 200


@contextmanager
def serve_workers(place: dict[str, str], data: Path, *options: str) -> Generator[ServerProcess]:
    """A server with two workers on a database."""
    with serve(data, *options, "--workers", "2", *to_options(place)) as server:
        yield server


def find_children(pid: int) -> set[int]:
    """Return the processes that a process has started and that have not ended."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    found = {int(word) for one in lists for word in one.read_text().split()}
    return {one for one in found if is_running(one)}


def is_running(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_until(is_done: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    """Wait for a condition."""
    until = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def find_worker(response: httpx.Response, pids: set[int]) -> int:
    """Return the worker that has answered on a connection which is still open."""
    stream = response.extensions["network_stream"]
    ports = [stream.get_extra_info(end)[1] for end in ("server_addr", "client_addr")]
    inode = _find_inode(ports)
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                if os.readlink(link) == f"socket:[{inode}]":
                    return pid
            except FileNotFoundError:
                continue
    raise AssertionError("no worker has the connection")


def _find_inode(ports: list[int]) -> str:
    """Return the inode of the socket that has these ports: its own, and the one of its peer."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, *addresses, _, _, _, _, _, _, inode = line.split()[:10]
        if [int(one.partition(":")[2], 16) for one in addresses[:2]] == ports:
            return inode
    raise AssertionError("there is no such connection")


@contextmanager
def connect_to(server: ServerProcess, pid: int) -> Generator[httpx.Client]:
    """A client whose only connection is to this worker."""
    limits = httpx.Limits(max_connections=1)
    for _ in range(_TRIES):
        client = httpx.Client(
            base_url=server.url, timeout=30, trust_env=False, verify=False, limits=limits
        )
        with client, client.stream("GET", "/healthz") as response:
            found = find_worker(response, find_children(server.process.pid))
            response.read()
            if found == pid:
                yield client
                return
    raise AssertionError("no connection reaches the worker")
