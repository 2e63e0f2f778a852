"""Tells public network addresses from those of this machine.

The checks list what is allowed, not what is forbidden, so that a form that was forgotten is
rejected.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias
from urllib.parse import urlsplit

Address: TypeAlias = IPv4Address | IPv6Address

# IANA's registries of special addresses (as of 2025), whatever the ipaddress of this Python
# says of them: it has changed its mind (CVE-2024-4032).
_SPECIAL = [
    ip_network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
        "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        # Azure's host, which answers its guests alone.
        "168.63.129.16/32",
        # Teredo, 6to4 and what else carries an address inside an address.
        "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    )
]  # fmt: skip
_GLOBAL = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LOOPBACK = IPv4Network("127.0.0.0/8")
_LOOPBACK_6 = IPv6Address("::1")
_ANY = (IPv4Address("0.0.0.0"), IPv6Address("::"))


@lru_cache(maxsize=256)
def find_server(url: str) -> tuple[str, int | None] | None:
    """Return the host and the port of a URL, without login, path and query, or None if it names no
    host. The port is None if it is the default of the scheme."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if host is None:
        return None
    return host, None if port == _DEFAULT_PORTS.get(parts.scheme) else port


def is_public(address: Address) -> bool:
    """Return whether an address is on the public internet, in whatever form: not on this machine, a
    local network, a carrier network or a cloud-internal service."""
    if isinstance(address, IPv6Address):
        inner = _extract_ipv4(address)
        if inner is not None:
            return is_public(inner)
        if address.scope_id is not None or address not in _GLOBAL:
            return False
    is_special = any(address in net for net in _SPECIAL if net.version == address.version)
    return not is_special and address.is_global and not address.is_multicast


def _extract_ipv4(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for, or None."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None


def parse_address(text: str) -> Address | None:
    """Return the IP address, or None if the text is not one."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Return whether a server with this host or name is reachable only from this machine. This is
    false for 0.0.0.0, which listens on all interfaces."""
    if host.lower() == "localhost":
        return True
    address = parse_address(host)
    return address == _LOOPBACK_6 or (isinstance(address, IPv4Address) and address in _LOOPBACK)


def is_this_machine(host: str) -> bool:
    """Return whether a connection to this host stays on this machine, so that it need not be
    encrypted. This includes 0.0.0.0, which servers often print as their address."""
    return is_loopback(host) or parse_address(host) in _ANY


def get_host(url: str) -> str:
    """Return the host of a URL in lower case and without brackets, or an empty text. For a host
    with a port alone, put `//` before it."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
