"""Parses Python source for the pages of the documentation."""

from __future__ import annotations

import ast
import gc
import textwrap


def parse_source(text: str) -> ast.Module:
    """Parse Python source, which may be indented.

    In CPython 3.11, a traceback that is formatted while the tree is built fails the parser, and the
    collection of an abandoned task formats one. So nothing is collected meanwhile.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(textwrap.dedent(text))
    finally:
        if was_enabled:
            gc.enable()
