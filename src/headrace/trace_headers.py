"""The W3C trace context of the current task, to be sent along with requests."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

TRACE_HEADERS: ContextVar[Mapping[str, str]] = ContextVar("trace_headers", default=_NOTHING)
"""Headers that name the current span, such as `traceparent`; empty if nothing is traced. They are
set while a request to a model is sent and while a tool runs. Add them to every request that a tool
or a transport sends to another service, so that its spans become part of the same trace."""
