"""Cache points: the places of a request up to which a provider caches it.

For providers that want them marked: Anthropic, and some that are compatible with OpenAI.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from headrace.content import CacheBreak
from headrace.events import JSONObject
from headrace.wire.json.value import as_list, as_object

CacheSetting: TypeAlias = bool | Literal["5m", "1h", "24h"]
"""Whether and how long to cache; `True` leaves the time to the provider."""
MAX_POINTS: Final = 4
"""Anthropic refuses more: https://platform.claude.com/docs/en/build-with-claude/prompt-caching."""
_MARK = "cache_break"
_UNCACHED = ("thinking", "redacted_thinking")


def encode_break(entry: CacheBreak) -> JSONObject:
    """Encode a cache break as a block that `place_points` replaces."""
    return {"type": _MARK, "ttl": entry.ttl}


def place_points(
    messages: list[JSONObject], fixed: list[JSONObject], cache: CacheSetting | None
) -> None:
    """Mark where the provider caches: at the user's own cache breaks and, with `cache`, where it
    pays.

    `fixed` are the last tool and the last block of the instructions, as far as there are any.
    Besides them, the end of the conversation is marked, and the end that the request before had: it
    is what this request finds in the cache. There are never more than `MAX_POINTS`; if there are
    too many breaks, the latest count.
    """
    # One is left for the end of the conversation.
    points = _take_breaks(messages)[-(MAX_POINTS - 1) if cache else -MAX_POINTS :]
    if cache:
        ttl: str | None = cache if isinstance(cache, str) else None
        ends = [_last_block(message) for message in _request_ends(messages)]
        wanted = [block for block in (*reversed(ends), *reversed(fixed)) if block is not None]
        marked = [id(block) for block, _ in points]
        free = [block for block in wanted if id(block) not in marked]
        points += [(block, ttl) for block in free[: MAX_POINTS - len(points)]]
    for block, time in points:
        block["cache_control"] = {"type": "ephemeral"} | ({"ttl": time} if time else {})


def _take_breaks(messages: list[JSONObject]) -> list[tuple[JSONObject, str | None]]:
    """Remove the blocks of cache breaks, and return the blocks before them."""
    points: dict[int, tuple[JSONObject, str | None]] = {}
    before: JSONObject | None = None
    emptied: list[int] = []
    for message in messages:
        content: list[Any] = as_list(message["content"])
        for block in content:
            if as_object(block).get("type") == _MARK:
                if before is not None:
                    points[id(before)] = (before, block["ttl"])
            elif as_object(block) and block["type"] not in _UNCACHED:
                before = block
        if any(as_object(block).get("type") == _MARK for block in content):
            message["content"] = [b for b in content if as_object(b).get("type") != _MARK]
            if not message["content"]:
                emptied.append(id(message))
    # A message with calls alone has no content either, and stays.
    messages[:] = [message for message in messages if id(message) not in emptied]
    return list(points.values())


def _request_ends(messages: list[JSONObject]) -> list[JSONObject]:
    """Return the last messages of the request before this one, and of this one."""
    if not messages:
        return []
    replies = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    last = len(messages) - 1
    before = [at for at in replies if 0 < at < last]
    return [messages[at - 1] for at in before[-1:]] + [messages[last]]


def _last_block(message: JSONObject) -> JSONObject | None:
    """Return the last block that can be marked. A text becomes a block."""
    if isinstance(message["content"], str):
        message["content"] = [{"type": "text", "text": message["content"]}]
    blocks = [as_object(block) for block in as_list(message["content"])]
    marked = [block for block in blocks if block and block.get("type") not in _UNCACHED]
    return marked[-1] if marked else None
