"""Routes of the web UI, which the package contains as static files."""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

STATIC: Final = Path(__file__).parents[1] / "static"
_HASHED: Final = re.compile(r"-[A-Z0-9]{8}\.\w+$")
_MISSING = "The web UI is not built here: run `make web`, or install a wheel.\n"
# What a model has written runs or is drawn here, in frames without an origin and without a network.
_FRAME_CSP: Final = (
    "sandbox allow-scripts; default-src 'none'; script-src {scripts}; style-src 'unsafe-inline';"
    " img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
)
_POLICIES: Final = {
    "preview.html": _FRAME_CSP.format(scripts="'unsafe-inline'") + "; webrtc 'block'",
    "diagram.html": _FRAME_CSP.format(scripts="'self'"),
}
_FORMS: Final = {"br": ".br", "gzip": ".gz"}
"""Endings of the compressed forms that the build has made, the smallest first."""


class _Assets(StaticFiles):
    """Static files, compressed if the client reads it. Those with a hash in their name never
    change; the others are revalidated."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: MutableMapping[str, Any],
        status_code: int = 200,
    ) -> Response:
        accepted = parse_encodings(Headers(scope=scope).get("accept-encoding", ""))
        encoding, path, stat = _find_form(os.fspath(full_path), stat_result, accepted)
        response = super().file_response(path, stat, scope, status_code)
        if encoding is not None:
            response.headers["content-encoding"] = encoding
        response.headers["vary"] = "accept-encoding"
        policy = _POLICIES.get(os.path.basename(full_path))
        if policy is not None:
            response.headers["content-security-policy"] = policy
        # A frame without an origin loads modules as a stranger. Everybody may read these files.
        response.headers["access-control-allow-origin"] = "*"
        is_hashed = _HASHED.search(os.fspath(full_path)) is not None
        response.headers["cache-control"] = (
            "public, max-age=31536000, immutable" if is_hashed else "no-cache"
        )
        return response


def parse_encodings(header: str) -> frozenset[str]:
    """Return the encodings that an `Accept-Encoding` header names, without those of quality 0."""
    found = set[str]()
    for entry in header.split(","):
        name, _, options = entry.partition(";")
        quality = re.search(r"q\s*=\s*([\d.]+)", options)
        if quality is None or quality[1].strip("0.") != "":
            found.add(name.strip().lower())
    return frozenset(found)


def _find_form(
    path: str, stat: os.stat_result, accepted: frozenset[str]
) -> tuple[str | None, str, os.stat_result]:
    """Return the best form of a file: its encoding, or None for the file itself, and where it
    is."""
    for encoding, ending in _FORMS.items():
        if encoding not in accepted:
            continue
        try:
            return encoding, path + ending, os.stat(path + ending)
        except OSError:
            continue
    return None, path, stat


def ui_routes() -> list[BaseRoute]:
    """Return the routes of the UI. Its addresses are relative, so it works under any prefix."""
    assets = _Assets(directory=STATIC, check_dir=False)
    return [Route("/", _index), Mount("/static", assets, name="static")]


async def _index(request: Request) -> Response:
    index = STATIC / "index.html"
    if not index.is_file():
        return PlainTextResponse(_MISSING, 503)
    return FileResponse(index, headers={"cache-control": "no-cache"})
