"""Finds the proxy of the environment for an address."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from headrace.address import get_host, is_this_machine


def find_proxy(url: str) -> str | None:
    """Return the address of the proxy for a URL, or None. Servers on this machine are always
    reached directly, because a proxy elsewhere could not reach them."""
    proxies = getproxies()
    if not proxies:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy is None or is_this_machine(get_host(url)) or proxy_bypass(parts.netloc):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
