"""`headrace token`: tokens for the users of a server."""

from __future__ import annotations

import sys
from argparse import Namespace

from headrace.cli.serve import data_folder
from headrace.errors import HeadraceError


def run(options: Namespace) -> int:
    """Print a new token."""
    from headrace.server.database import Database
    from headrace.server.service import now_ms
    from headrace.server.store import SQLiteStore
    from headrace.server.token import Tokens

    folder = data_folder(options.data)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        database = Database(folder / "headrace.db")
        SQLiteStore(database)
        print(Tokens(database).create(options.user, options.name, now_ms()))
        database.close()
    except (HeadraceError, OSError) as error:
        print(f"headrace token: {error}", file=sys.stderr)
        return 1
    return 0
