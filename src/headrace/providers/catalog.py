"""The catalog: one row per provider.

A provider that uses a known dialect needs only a row in `rows/`; a recorded stream proves it.
"""

from __future__ import annotations

from typing import Final

from headrace.providers.provider import Provider
from headrace.providers.rows.clouds import CLOUDS
from headrace.providers.rows.hosts import HOSTS
from headrace.providers.rows.own_servers import OWN_SERVERS
from headrace.providers.rows.vendors import VENDORS

CATALOG: Final[dict[str, Provider]] = {
    row.name: row for row in (*VENDORS, *CLOUDS, *HOSTS, *OWN_SERVERS)
}
"""The providers by name."""
