"""Status phrases for running tools, chosen by the tool's name."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from headrace.status.languages import ENGLISH, language_of
from headrace.status.phrase import shorten
from headrace.status.tool_kind import ToolKind, tool_kind
from headrace.wire.json.value import as_list, as_object, as_text

_PHRASES: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), phrase)
    for pattern, phrase in (
        (r"\b(?:document|vector\w*) search", "Searching files"),
        (r"\b(?:web|browser|internet|google|bing|news)\b.*\bsearch", "Searching the web"),
        (r"\bsearch.*\b(?:web|internet)|^(?:live )?search$", "Searching the web"),
        (r"\bsearch\b", "Searching"),
        (r"\b(?:web|browser|url|page)\b.*\b(?:fetch|open|find|visit|read)", "Reading a page"),
        (r"\b(?:fetch|open|visit|browse)\b.*\b(?:url|page|web)|^fetch$", "Reading a page"),
        (r"\b(?:run|execute) (?:code|python)|^python$", "Running code"),
        (r"\b(?:shell|bash|terminal|computer)\b", "Working in a shell"),
        (r"\bimages? creat|\b(?:generate|create|draw) (?:an? )?image", "Drawing"),
        (r"\bartifact", "Making an artifact"),
        (r"\bcalculat(?:or|e)\b", "Calculating"),
        (r"\bmemory\b", "Looking into memory"),
    )
)
_OF_KIND: Final[dict[ToolKind | None, str]] = {
    "web_search": "Searching the web",
    "file_search": "Searching files",
    "code_interpreter": "Running code",
    "image_generation": "Drawing",
}
# Prefix of tools of an MCP server; the name after it tells what the tool does.
_OF_MCP = re.compile(r"^mcp_+", re.IGNORECASE)
_SEARCH_OF_X = re.compile(r"\b(?:x|twitter) (?:keyword |semantic |user )?search")
# Arguments that name what a tool is looking for.
_TOPICS = (
    "query", "q", "queries", "search_query", "keywords", "question", "url", "path", "title",
    "topic", "city", "location",
)  # fmt: skip
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_BRACKETS = re.compile(r"[()\[\]{}<>（）【】《》「」『』]+")
_MAX_NAME_CHARS = 48
MIN_TOPIC_CHARS = 20
"""Characters that are always reserved for the topic of a call."""


def tool_phrase(name: str, args: Any = None) -> str:
    """Return a status phrase for a call, including its topic if the arguments name one."""
    words = " ".join(_WORDS.findall(name[:_MAX_NAME_CHARS].replace("_", " "))).lower()
    phrase = _known_phrase(name, words) or (
        f"Using {words}" if words and len(name) <= _MAX_NAME_CHARS else "Using a tool"
    )
    topic = _topic(args)
    if not topic:
        return phrase
    room = ENGLISH.max_chars - len(phrase)
    language = msgspec.structs.replace(language_of(topic), max_chars=max(room, MIN_TOPIC_CHARS))
    topic = shorten(topic, language)
    return f"{phrase}: {topic}" if topic else phrase


def _known_phrase(name: str, words: str) -> str | None:
    if _SEARCH_OF_X.search(words):
        return "Searching X"
    # This also applies to client tools, which are often named like those of providers.
    of_kind = _OF_KIND.get(tool_kind(_OF_MCP.sub("", name)))
    return of_kind or next((said for pattern, said in _PHRASES if pattern.search(words)), None)


def _topic(args: Any) -> str:
    fields = as_object(args)
    for name in _TOPICS:
        value = as_text(fields.get(name)) or next(iter(as_list(fields.get(name))), "")
        topic = as_text(value)
        if topic and topic.strip():
            return " ".join(_BRACKETS.sub(" ", topic[:400]).split())
    return ""
