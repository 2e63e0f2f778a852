"""What kind of tool a provider runs, told from its type or its name: the one table of it."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from headrace.events import JSONObject

ToolKind: TypeAlias = Literal[
    "mcp", "web_search", "code_interpreter", "file_search", "image_generation"
]
# The first that fits. Tools of an MCP server have names of their own: their type comes first.
_KINDS: Final[tuple[tuple[re.Pattern[str], ToolKind], ...]] = (
    (re.compile(r"^mcp"), "mcp"),
    (re.compile(r"(?:^|_)(?:web|google|browser|x)(?:(?:_[a-z]+)*?_)?search"), "web_search"),
    (re.compile(r"code_(?:interpreter|execution)"), "code_interpreter"),
    (re.compile(r"(?:^|_)(?:file|collections?|attachment)_search"), "file_search"),
    (re.compile(r"images?_?gen"), "image_generation"),
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[^a-z0-9]+")
# The patterns look ahead from each word of a name: no name makes that long.
_MAX_NAME_CHARS = 128


def tool_kind(name: str, provider_data: JSONObject | None = None) -> ToolKind | None:
    """The kind of a tool that a provider runs; None for any other, and for one of no kind."""
    for word in ((provider_data or {}).get("type"), name):
        plain = _plain(word) if isinstance(word, str) else ""
        for pattern, kind in _KINDS:
            if pattern.search(plain):
                return kind
    return None


def _plain(word: str) -> str:
    return _OTHER.sub("_", _HUMP.sub("_", word[:_MAX_NAME_CHARS]).lower())
