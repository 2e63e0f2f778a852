"""Routes of the web UI, which the package contains as static files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

STATIC: Final = Path(__file__).parents[1] / "static"
_HASHED: Final = re.compile(r"-[A-Z0-9]{8}\.\w+$")
_MISSING = "The web UI is not built here: run `make web`, or install a wheel.\n"


class _Assets(StaticFiles):
    """Static files. Those with a hash in their name never change; the others are revalidated."""

    def file_response(self, full_path: object, *rest: object, **more: object) -> Response:
        response: Response = super().file_response(full_path, *rest, **more)  # type: ignore[arg-type]
        is_hashed = _HASHED.search(str(full_path)) is not None
        response.headers["cache-control"] = (
            "public, max-age=31536000, immutable" if is_hashed else "no-cache"
        )
        return response


def ui_routes() -> list[BaseRoute]:
    """Return the routes of the UI. Its addresses are relative, so it works under any prefix."""
    assets = _Assets(directory=STATIC, check_dir=False)
    return [Route("/", _index), Mount("/static", assets, name="static")]


async def _index(request: Request) -> Response:
    index = STATIC / "index.html"
    if not index.is_file():
        return PlainTextResponse(_MISSING, 503)
    return FileResponse(index, headers={"cache-control": "no-cache"})
