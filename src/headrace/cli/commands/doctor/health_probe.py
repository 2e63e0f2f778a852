"""Asks servers on this machine whether they are alive."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

from headrace.address import is_loopback

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


def is_listening(port: int) -> bool:
    """Return whether something accepts connections on this port of 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(_WAIT_S)
        return probe.connect_ex(("127.0.0.1", port)) == 0
