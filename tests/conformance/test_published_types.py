"""Every request that we build is one that the provider's own published types take.

The bodies come from recorded streams: stream → fold → request. One module, since the
packages with the types are slow to import.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace.content import TextContent
from headrace.events import Record, ToolResult, TurnEvent
from headrace.messages import CallPart, Message, ReasoningPart, RedactedPart, fold
from headrace.providers import CATALOGUE, Provider
from headrace.requests import Request, Tool
from headrace.turn.encoding import body_for
from tests.corpus.recorded import FRAMINGS, MANIFEST, read, rows
from tests.published import Refused, accepts
from tests.wire import events_of

APIS = {
    "openai-chat": "chat",
    "anthropic": "anthropic",
    "openai-responses": "responses",
    "gemini": "gemini",
    "ollama": "ollama",
}
# A provider of each dialect, and names of its rows where the manifest has others.
DEFAULTS = {
    "chat": "compatible",
    "anthropic": "anthropic",
    "responses": "openai",
    "gemini": "gemini",
    "ollama": "ollama",
}
