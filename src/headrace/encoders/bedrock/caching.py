"""Places cache points in Converse requests, within the limits of Bedrock.

https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
"""

from __future__ import annotations

from headrace.encoders.cache_point import MAX_POINTS, CacheSetting
from headrace.encoders.claude.thinking import is_claude_since
from headrace.encoders.model_family import parse_family
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.wire.json.value import as_object

_POINT = "cachePoint"
_LONG = "1h"
# The first Claude whose cache can be kept for an hour.
_LONG_SINCE = (4, 5)
# Bedrock refuses a point right behind these.
_NO_POINT_BEHIND = ("document", "video")


def encode_point(ttl: str | None) -> JSONObject:
    """Encode a cache point."""
    return {_POINT: {"type": "default"} | ({"ttl": ttl} if ttl else {})}


def place_cache_points(body: JSONObject, cache: CacheSetting | None, model: str) -> None:
    """Keep the latest cache breaks of the user and, with `cache`, add points after the tools, the
    instructions and the conversation, as far as there is room.

    Models other than Claude and Nova refuse points, and get none. Nova takes them only behind
    texts, and none behind tools. Raises `UsageError` if the model cannot keep its cache as long.
    """
    messages: list[JSONObject] = body["messages"]
    family = parse_family(model)
    is_cached = family in ("claude", "nova")
    room = MAX_POINTS - (1 if cache else 0) if is_cached else 0
    for message in reversed(messages):
        message["content"], room = _keep_points(message["content"], room, family)
    messages[:] = [message for message in messages if message["content"]]
    if cache and is_cached:
        _add_points(body, cache, room + 1, family)
    _check_times(body, model)


def _keep_points(content: list[JSONObject], room: int, family: str) -> tuple[list[JSONObject], int]:
    """Return the content with its latest points, and how much room is left."""
    points = [(at, block) for at, block in enumerate(content) if _POINT in block]
    kept = [block for block in content if _POINT not in block]
    # The latest first: a point has as many blocks before it as its place says, without the points.
    for number, (at, block) in reversed(list(enumerate(points))):
        if room and _insert_point(kept, at - number, block, family):
            room -= 1
    return kept, room


def _insert_point(content: list[JSONObject], end: int, point: JSONObject, family: str) -> bool:
    """Insert a point at the latest allowed place up to `end`; return whether there is one."""
    while end and any(name in content[end - 1] for name in _NO_POINT_BEHIND):
        end -= 1
    before = content[end - 1] if end else {}
    after = content[end] if end < len(content) else {}
    is_refused = family == "nova" and "text" not in before
    if not before or is_refused or _POINT in before or _POINT in after:
        return False
    content.insert(end, point)
    return True


def _add_points(body: JSONObject, cache: CacheSetting, room: int, family: str) -> None:
    ttl = cache if isinstance(cache, str) else None
    messages: list[JSONObject] = body["messages"]
    last: list[JSONObject] = messages[-1]["content"] if messages else []
    if _insert_point(last, len(last), encode_point(ttl), family):
        room -= 1
    tools = _find_tools(body) if family != "nova" else []
    for blocks in (_find_system(body), tools):
        if blocks and room:
            room -= 1
            blocks.append(encode_point(ttl))


def _find_tools(body: JSONObject) -> list[JSONObject]:
    tools: list[JSONObject] = as_object(body.get("toolConfig")).get("tools", [])
    return tools


def _find_system(body: JSONObject) -> list[JSONObject]:
    system: list[JSONObject] = body.get("system", [])
    return system


def _check_times(body: JSONObject, model: str) -> None:
    """Let no point be kept longer than one before it, which Bedrock refuses: the earlier one is
    kept as long then."""
    messages: list[JSONObject] = body["messages"]
    parts = [_find_tools(body), _find_system(body), *(m["content"] for m in messages)]
    points: list[JSONObject] = [b[_POINT] for blocks in parts for b in blocks if _POINT in b]
    long = [at for at, point in enumerate(points) if point.get("ttl") == _LONG]
    if not long:
        return
    if not is_claude_since(model, _LONG_SINCE):
        raise UsageError(f"{model} keeps its cache for 5m: 1h is possible since Claude 4.5")
    for point in points[: long[-1]]:
        point["ttl"] = _LONG
