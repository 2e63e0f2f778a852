"""Runs `headrace config`: shows the settings of a server."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from typing import Any

from headrace.cli.commands.serve.arguments import create_configuration
from headrace.cli.configuration import Setting, find_config_file
from headrace.cli.terminal.safe_text import visible_lines

_NAME = re.compile(r"[\w.%+-]*")


def run(options: Namespace) -> int:
    """Print the settings."""
    configuration = create_configuration()
    found = configuration.resolve(options, find_config_file(options.config))
    settings = [one for one in found if not options.changed or one.source != "default"]
    if options.json:
        shown = {one.name: {"value": _hide(one.value), "source": one.source} for one in settings}
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return 0
    if not settings:
        print("All settings have their defaults.")
        return 0
    rows = [(one.name, _format(one), one.source) for one in settings]
    widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
    for name, value, source in rows:
        line = f"{name:<{widths[0]}}  {value:<{widths[1]}}  {source}"
        print(visible_lines(line))
    return 0


def _format(setting: Setting) -> str:
    value = _hide(setting.value)
    if value in (None, "", []):
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(setting.value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _hide(value: Any) -> Any:
    """Return a value without the password of an address, and without its query."""
    if isinstance(value, list):
        return list(map(_hide, value))  # pyright: ignore[reportUnknownArgumentType]
    # An MCP server may have a name before its address.
    scheme, slashes, rest = value.partition("://") if isinstance(value, str) else ("", "", "")
    if not slashes:
        return value
    # A password may contain any sign, also one that ends the host in a correct address.
    login, _, place = rest.rpartition("@")
    user = login.partition(":")[0]
    shown = f"{user}@" if user and _NAME.fullmatch(user) else "…@" if user else ""
    path, mark, _ = re.sub(r"#.*", "", place, flags=re.DOTALL).partition("?")
    return f"{scheme}://{shown}{path}{'?…' if mark else ''}"
