"""A tool that tells the date and time in any time zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from headrace.tools.result import ToolReturn, tool_error
from headrace.tools.tool import Tool

_MAX_NAME_CHARS = 64
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def clock_tool(now: Callable[[], datetime] = utc_now) -> Tool:
    """Return the tool `clock`. `now` returns the current time with its time zone."""

    def clock(timezone: str = "UTC") -> dict[str, Any] | ToolReturn:
        """Tell the date, the weekday and the time, now.

        Args:
            timezone: An IANA name such as "Europe/Oslo" or "America/New_York".
        """
        zone = _zone(timezone)
        if zone is None:
            return tool_error(_unknown_zone(timezone))
        moment = now().astimezone(zone)
        return {
            "iso": moment.isoformat(timespec="seconds"),
            "date": moment.date().isoformat(),
            "time": moment.strftime("%H:%M:%S"),
            "weekday": _WEEKDAYS[moment.weekday()],
            "timezone": timezone,
        }

    return Tool(clock)


def _zone(name: str) -> tzinfo | None:
    if name.upper() in ("UTC", "Z", "GMT"):
        return UTC  # known even if the system has no zones
    try:
        return ZoneInfo(name) if len(name) <= _MAX_NAME_CHARS else None
    except (KeyError, ValueError, OSError):  # unknown, not a name, or a folder of names
        return None


def _unknown_zone(name: str) -> str:
    near = get_close_matches(name[:_MAX_NAME_CHARS], available_timezones(), n=3)
    hint = f"did you mean {', '.join(near)}?" if near else 'expected one such as "Europe/Oslo".'
    return f"No time zone {name[:_MAX_NAME_CHARS]!r}: {hint}"
