"""Checks whether the port of a server is free, and whether servers on this machine are alive."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path
from urllib.parse import urlsplit

from headrace.address import is_loopback
from headrace.cli.commands.doctor.finding import Finding
from headrace.server.storage.data_folder import find_holder

_HOST = "127.0.0.1"
_TABLE = Path("/proc/net/tcp")
_LISTENS = "0A"
_WAIT_S = 2.0
_HEALTHY = b"ok\n"


def answers_health(address: str) -> bool | None:
    """Return whether a Headrace server answers at an address; None for another machine."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme != "http" or not is_loopback(host):
        return None
    connection = http.client.HTTPConnection(host, parts.port or 80, timeout=_WAIT_S)
    try:
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        return response.status == 200 and response.read(64) == _HEALTHY
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def port_finding(port: int, folder: Path) -> Finding:
    """Check whether `headrace serve` could use the port. A running Headrace server is fine."""
    if not 0 < port < 65_536:
        return Finding(
            "port", "error", f"{port} is not a port", "a port is a number from 1 to 65535"
        )
    if not _is_listening(port):
        return _unheard(port)
    held = find_holder(folder)
    if held is not None and held.address.endswith(f":{port}"):
        return Finding("port", "ok", f"{port} is used by the server of this data folder")
    other = f"headrace serve --port {port + 1 if port < 65_535 else 8700} uses another port"
    if answers_health(f"http://{_HOST}:{port}"):
        message = f"{port} is taken by a Headrace server with another data folder"
        return Finding("port", "warning", message, f"stop that one, or: {other}")
    return Finding("port", "error", f"{port} is taken by {_who(port)}", f"stop it, or: {other}")


def _is_listening(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(_WAIT_S)
        return probe.connect_ex((_HOST, port)) == 0


def _unheard(port: int) -> Finding:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            fix = "use another: headrace serve --port 0"
            message = f"port {port} cannot be used: {error.strerror}"
            return Finding("port", "error", message, fix)
    return Finding("port", "ok", f"{port} is free")


def _who(port: int) -> str:
    """Return the process that has the port, if the system tells."""
    inode = _inode(port)
    if inode is not None:
        for process in Path("/proc").glob("[0-9]*"):
            if _has_socket(process, inode):
                return f"{_name(process)} (process {process.name})"
    return "another program"


def _inode(port: int) -> str | None:
    try:
        rows = [line.split() for line in _TABLE.read_text().splitlines()[1:]]
    except OSError:
        return None
    ending = f":{port:04X}"
    return next((row[9] for row in rows if row[1].endswith(ending) and row[3] == _LISTENS), None)


def _has_socket(process: Path, inode: str) -> bool:
    try:
        return any(
            str(link.readlink()) == f"socket:[{inode}]" for link in (process / "fd").iterdir()
        )
    except OSError:
        return False


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip() or "a program"
    except OSError:
        return "a program"
