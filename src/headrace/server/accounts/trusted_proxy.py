"""Proxies whose headers count: they name the user of a request, and the address of its client."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Final, TypeAlias

from starlette.requests import HTTPConnection

from headrace.errors import UsageError
from headrace.server.http_error import HTTPError
from headrace.server.storage.accounts import check_user_name

_FORWARDED_FOR: Final = "x-forwarded-for"
_IPV6_NETWORK_BITS: Final = 64
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


class TrustedProxies:
    """The proxies of a server. From any other address their headers are ignored.

    Raises `UsageError` if an address is malformed, or if there is a header but no proxy.
    """

    def __init__(self, proxies: Sequence[str], user_header: str = "") -> None:
        try:
            self._networks = [ipaddress.ip_network(one) for one in proxies]
        except ValueError as error:
            raise UsageError(f"expected the address or network of a proxy: {error}") from None
        if user_header and not self._networks:
            raise UsageError("a header for users needs a proxy: add --trusted-proxy ADDRESS")
        self._user_header = user_header

    def read_user(self, request: HTTPConnection) -> str | None:
        """Return the user that a trusted proxy names, or None. Raises an `HTTPError` of 400 if the
        proxy sends no name, or more than one: a client may have added the other."""
        if not self._user_header or not self._is_trusted(_peer(request)):
            return None
        values = request.headers.getlist(self._user_header)
        if not values or values == [""]:
            return None
        try:
            (value,) = values
            return check_user_name(value.encode("latin-1").decode("utf-8"))
        except (ValueError, UsageError):
            text = "the proxy has not sent exactly one valid user name"
            raise HTTPError(400, "bad_user", text) from None

    def find_address(self, request: HTTPConnection) -> str:
        """Return the address of the client, as far as trusted proxies tell it: the last one that is
        none of them. All addresses of an IPv6 network are one."""
        address = _peer(request)
        told = ",".join(request.headers.getlist(_FORWARDED_FOR)).split(",")
        while self._is_trusted(address) and told:
            earlier = _parse(told.pop())
            if earlier is None:
                break
            address = earlier
        return _name(address)

    def _is_trusted(self, address: _Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _peer(request: HTTPConnection) -> _Address | None:
    return None if request.client is None else _parse(request.client.host)


def _parse(text: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _name(address: _Address | None) -> str:
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _IPV6_NETWORK_BITS), strict=False))
    return str(address)
