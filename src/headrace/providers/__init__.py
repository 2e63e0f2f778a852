"""Providers: the catalog, and how `provider:model` becomes an address with a key."""

from headrace.providers.catalog import CATALOG
from headrace.providers.endpoint import Endpoint, find_key, resolve
from headrace.providers.provider import OutputMode, Provider

__all__ = ["CATALOG", "Endpoint", "OutputMode", "Provider", "find_key", "resolve"]
