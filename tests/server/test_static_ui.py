"""Static files of the UI: compressed as the client reads it, and kept by browsers for good."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from headrace.engine import Agent
from headrace.server import create_app
from headrace.server.http.static_ui import STATIC, parse_encodings

IMMUTABLE = "public, max-age=31536000, immutable"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    app = create_app(Agent("rehearsal:small"), data=tmp_path_factory.mktemp("data"))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


def _script(client: TestClient) -> str:
    """The address of the script that the page loads."""
    return str(re.findall(r'src="([^"]+)"', client.get("/").text)[0])


def test_the_page_names_files_that_never_change(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["cache-control"] == "no-cache"
    names = re.findall(r'(?:src|href)="(static/[^"]+)"', page.text)
    # The icon, the style sheet, the script, and what the script imports.
    assert len(names) > 3
    for name in names:
        assert client.get(f"/{name}").headers["cache-control"] == IMMUTABLE


def test_the_script_that_pages_embed_is_revalidated_and_names_the_hashed_one(
    client: TestClient,
) -> None:
    stub = client.get("/static/headrace.js")
    assert stub.headers["cache-control"] == "no-cache"
    assert len(stub.content) < 100
    assert Path(_script(client)).name in stub.text


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("br, gzip", "br"), ("gzip", "gzip"), ("br;q=0, gzip;q=0.5", "gzip"), ("", None)],
)
def test_a_form_that_the_client_reads_is_sent(
    client: TestClient, accepted: str, encoding: str | None
) -> None:
    name = _script(client)
    with client.stream("GET", f"/{name}", headers={"accept-encoding": accepted}) as response:
        body = b"".join(response.iter_raw())
    plain = (STATIC / Path(name).name).read_bytes()
    assert response.headers.get("content-encoding") == encoding
    assert response.headers["vary"] == "accept-encoding"
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["cache-control"] == IMMUTABLE
    assert int(response.headers["content-length"]) == len(body)
    if encoding is None:
        assert body == plain
    else:
        assert len(body) < len(plain) / 2
    if encoding == "gzip":
        assert gzip.decompress(body) == plain
    known = {"accept-encoding": accepted, "if-none-match": response.headers["etag"]}
    assert client.get(f"/{name}", headers=known).status_code == 304


def test_the_first_load_is_at_most_75_kilobytes(client: TestClient) -> None:
    """What a browser that reads brotli gets before anything is asked."""
    sent = len(client.get("/").content)
    for name in re.findall(r'(?:src|href)="(static/[^"]+)"', client.get("/").text):
        with client.stream("GET", f"/{name}", headers={"accept-encoding": "br"}) as response:
            sent += len(b"".join(response.iter_raw()))
    assert sent <= 75_000


def test_a_preview_may_run_scripts_and_nothing_else(client: TestClient) -> None:
    policy = client.get("/static/preview.html").headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert "connect-src" not in policy
    assert "'self'" not in policy
    assert "frame-src 'self'" in client.get("/").headers["content-security-policy"]


def test_encodings_are_read_with_their_qualities() -> None:
    assert parse_encodings("gzip, BR;q=1.0, deflate; q=0.0, *;q=0") == {"gzip", "br"}
