"""Providers: the catalogue, and from `provider:model` to an address with a key."""

from headrace.providers.catalogue import CATALOGUE
from headrace.providers.endpoint import Endpoint, find_key, resolve
from headrace.providers.provider import Provider

__all__ = ["CATALOGUE", "Endpoint", "Provider", "find_key", "resolve"]
