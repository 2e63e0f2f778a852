"""The kind of a provider-run tool, recognized by its type or name."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from headrace.events import JSONObject

ToolKind: TypeAlias = Literal[
    "mcp", "web_search", "code_interpreter", "file_search", "image_generation"
]
# The first match wins. Tools of an MCP server have arbitrary names, so their type comes first.
_KINDS: Final[tuple[tuple[re.Pattern[str], ToolKind], ...]] = (
    (re.compile(r"^mcp"), "mcp"),
    (re.compile(r"(?:^|_)(?:web|google|browser|x)(?:(?:_[a-z]+)*?_)?search"), "web_search"),
    (re.compile(r"code_(?:interpreter|execution)"), "code_interpreter"),
    (re.compile(r"(?:^|_)(?:file|collections?|attachment)_search"), "file_search"),
    (re.compile(r"images?_?gen"), "image_generation"),
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[^a-z0-9]+")
# The patterns scan ahead from each word of a name, so its length is bounded.
_MAX_NAME_CHARS = 128


def tool_kind(name: str, provider_data: JSONObject | None = None) -> ToolKind | None:
    """Return the kind of a provider-run tool, or None if it is of no known kind."""
    for word in ((provider_data or {}).get("type"), name):
        plain = _plain(word) if isinstance(word, str) else ""
        for pattern, kind in _KINDS:
            if pattern.search(plain):
                return kind
    return None


def _plain(word: str) -> str:
    return _OTHER.sub("_", _HUMP.sub("_", word[:_MAX_NAME_CHARS]).lower())
