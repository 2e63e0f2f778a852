"""Uploads: what is taken, how it is sent and shown, and 300 hostile ones that do no harm."""

from __future__ import annotations

import base64
import os
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from headrace.engine import Agent
from headrace.rehearsal.script import say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server import create_app
from headrace.server.http.routes.chat import MAX_ATTACHMENTS
from headrace.server.storage.files import FolderFiles
from headrace.transport.retry import NEVER
from tests.browser.stage import Stage
from tests.sample_files import HTML, PDF, png
from tests.server.tokens import create_token

HOSTILE = int(os.environ.get("HEADRACE_SOAK_UPLOADS", "300"))
MAX_BYTES = 4_096


class _Server:
    """A server whose requests of the model are kept."""

    def __init__(self, data: Path, model: str = "openai:rehearsed", **settings: Any) -> None:
        self.data = data
        self.transport = ScriptedTransport(lambda heard: turn(say("Seen.")), dialect="responses")
        agent = Agent(model, transport=self.transport, api_key="k", policy=NEVER)
        files = FolderFiles(
            data / "files", max_bytes=MAX_BYTES, max_files=60, max_user_bytes=100_000
        )
        self.app = create_app(agent, data=data, files=files, **settings)

    @property
    def stored(self) -> list[Path]:
        return [one for one in (self.data / "files").glob("**/*") if one.is_file()]


@pytest.fixture
def server(tmp_path: Path) -> _Server:
    return _Server(tmp_path)


@pytest.fixture
def client(server: _Server) -> Iterator[TestClient]:
    with TestClient(server.app, base_url="http://127.0.0.1") as client:
        yield client


def _upload(client: TestClient, data: bytes, name: str = "a.png", **headers: str) -> Any:
    kind = {"content-type": "application/octet-stream", "x-file-name": quote(name, safe="")}
    return client.post("/api/files", content=data, headers={**kind, **headers})


def test_a_file_becomes_a_part_of_the_message_and_is_read_again(
    client: TestClient, server: _Server
) -> None:
    ids = [
        _upload(client, data, name).json()["id"]
        for data, name in ((png(), "dot.png"), (PDF, "plan.pdf"), (b"a,b\n1,2\n", "table.csv"))
    ]
    body, key = {"message": "What is this?", "attachments": ids}, {"idempotency-key": "k"}
    asked = client.post("/api/chat", json=body, headers=key)
    assert "Seen." in asked.text
    assert server.stored == [], "the message has its own copy"
    again = client.post("/api/chat", json=body, headers=key)
    assert again.headers["x-event-id"] == asked.headers["x-event-id"]
    sent = str(server.transport.requests[0])
    assert base64.b64encode(png()).decode() in sent
    assert "plan.pdf" in sent
    conversation_id = asked.headers["x-conversation-id"]
    message = client.get(f"/api/conversations/{conversation_id}").json()["messages"][0]
    assert message["text"] == "What is this?"
    assert [one["name"] for one in message["attachments"]] == [
        "image.png", "plan.pdf", "table.csv",
    ]  # fmt: skip
    where = f"/api/conversations/{conversation_id}/messages/{message['id']}/attachments"
    image, pdf = client.get(f"{where}/0"), client.get(f"{where}/1")
    assert (image.content, image.headers["content-type"]) == (png(), "image/png")
    assert pdf.content == PDF
    for response in (image, pdf):
        assert response.headers["content-disposition"].startswith("attachment; filename*=")
        assert response.headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert response.headers["x-content-type-options"] == "nosniff"
    assert pdf.headers["content-type"] == "application/octet-stream"
    assert client.get(f"{where}/3").status_code == 404
    export = client.get(f"/api/conversations/{conversation_id}/export?format=markdown").text
    assert "Attached: plan.pdf (application/pdf)" in export
    client.delete(f"/api/conversations/{conversation_id}")
    assert client.get(f"{where}/0").status_code == 404


def test_what_a_model_cannot_read_is_told_before_it_is_asked(tmp_path: Path) -> None:
    server = _Server(tmp_path, model="anthropic:rehearsed")
    with TestClient(server.app, base_url="http://127.0.0.1") as client:
        wav = b"RIFF\x24\0\0\0WAVEfmt "
        file_id = _upload(client, wav, "sound.wav").json()["id"]
        refused = client.post("/api/chat", json={"message": "Listen.", "attachments": [file_id]})
        assert refused.status_code == 422
        assert refused.json()["error"]["code"] == "cannot_ask"
        assert server.transport.requests == []
        assert client.get("/api/conversations").json()["conversations"] == []


@pytest.mark.parametrize(
    ("data", "name", "code"),
    [
        (b"", "a.png", "empty_file"),
        (b"PK\x03\x04" + b"\0" * 40, "a.zip", "unknown_type"),
        (b"MZ\0\0\0", "a.exe", "unknown_type"),
        (b"\x7fELF\0\0", "a.txt", "unknown_type"),
        (b"PK\x03\x04\0", "fake.pdf", "unknown_type"),
        (b"\0\1\2\3", "a.mp3", "unknown_type"),
        (png(20_000, 20_000), "bomb.png", "too_many_pixels"),
        (png()[:18], "cut.png", "broken_image"),
        (b"GIF89a", "cut.gif", "broken_image"),
        (b"\xff\xd8\xff\xe0\0\x01", "cut.jpg", "broken_image"),
        (b"x" * 5_000, "large.txt", "too_large"),
    ],
)
def test_what_is_not_taken_is_told_and_leaves_nothing(
    client: TestClient, server: _Server, data: bytes, name: str, code: str
) -> None:
    assert _upload(client, data, name).json()["error"]["code"] == code
    assert server.stored == []


@pytest.mark.parametrize("name", ["page.html", "page.svg", "page.xhtml", "page.txt", "page"])
def test_what_could_run_in_a_browser_is_plain_text(client: TestClient, name: str) -> None:
    assert _upload(client, HTML, name).json()["media_type"] == "text/plain"


def test_names_are_for_display_and_never_a_path(client: TestClient, server: _Server) -> None:
    for name in (
        "../../etc/passwd",
        "..\\..\\boot.ini",
        "/abs",
        "a\0b\n",
        "\u202egnp.exe",
        "." * 9,
    ):
        told = _upload(client, b"text", name).json()["name"]
        assert not set(told) & set("/\\\0\n\u202e")
        assert told not in ("", ".", "..")
    names = {path.name.partition(".")[0] for path in server.stored}
    assert all(name.startswith("file_") and len(name) == 37 for name in names)


def test_a_form_of_another_site_is_refused(client: TestClient, server: _Server) -> None:
    for kind in ("multipart/form-data", "text/plain", "image/png", ""):
        assert _upload(client, png(), **{"content-type": kind}).status_code == 415
    assert server.stored == []


def test_a_user_has_so_many_files_and_bytes(client: TestClient) -> None:
    codes = [_upload(client, b"x" * 4_000, "a.txt").status_code for _ in range(30)]
    assert codes.count(200) == 25
    assert set(codes) == {200, 429}
    assert client.delete("/api/files/file_" + "0" * 32).status_code == 404


def test_files_that_nobody_sends_are_deleted(client: TestClient, server: _Server) -> None:
    _upload(client, png())
    for path in server.stored:
        os.utime(path, (1, 1))
    assert client.portal is not None
    assert client.portal.call(server.app.state.service.files.expire, 10_000_000) == 1
    assert server.stored == []


def test_nobody_reads_or_sends_the_files_of_somebody_else(tmp_path: Path) -> None:
    server = _Server(tmp_path, needs_token=True)
    with TestClient(server.app, base_url="http://127.0.0.1") as client:
        service = server.app.state.service
        anna, berta = (
            {"authorization": f"Bearer {create_token(service, name, '', 0)}"}
            for name in ("anna", "berta")
        )
        file_id = _upload(client, png(), **anna).json()["id"]
        body = {"message": "q", "attachments": [file_id]}
        assert client.post("/api/chat", json=body, headers=berta).status_code == 404
        assert client.delete(f"/api/files/{file_id}", headers=berta).status_code == 404
        asked = client.post("/api/chat", json=body, headers=anna)
        assert asked.status_code == 200
        conversation_id = asked.headers["x-conversation-id"]
        message_id = asked.headers["x-parent-id"]
        where = f"/api/conversations/{conversation_id}/messages/{message_id}/attachments/0"
        assert client.get(where, headers=anna).status_code == 200
        assert client.get(where, headers=berta).status_code == 404
        assert client.get(where).status_code == 401
        assert _upload(client, png()).status_code == 401


def test_ids_that_are_none_are_not_looked_for(client: TestClient) -> None:
    for file_id in ("../x", "file_" + "A" * 32, "file_" + "0" * 32, "", "file_" + "0" * 32 + "\n"):
        body = {"message": "q", "attachments": [file_id]}
        assert client.post("/api/chat", json=body).status_code == 404
    many = {"message": "q", "attachments": ["x"] * (MAX_ATTACHMENTS + 1)}
    assert client.post("/api/chat", json=many).status_code == 422


# --- hostile uploads ---------------------------------------------------------------

_STARTS = (
    png(), png(1, 70_000), b"GIF89a\1\0\1\0", b"GIF89a\xff\xff\xff\xff", b"RIFF\0\0\0\0WEBPVP8X",
    b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff", PDF, HTML, b"<svg onload=alert(1)>",
    b"PK\x03\x04", b"\x1f\x8b\x08", b"%PDF-" + HTML, b"GIF89a\1\0\1\0" + HTML, b"\xef\xbb\xbf", b"",
)  # fmt: skip
_ENDINGS = ("png", "jpg", "gif", "webp", "pdf", "html", "svg", "txt", "zip", "js", "wav", "")


def _hostile(chance: random.Random) -> tuple[bytes, str]:
    data = bytearray(chance.choice(_STARTS))
    if chance.random() < 0.4:
        data += chance.choice((HTML, b"PK\x03\x04", b"\0" * 40, os.urandom(40), b"A" * 6_000))
    if data and chance.random() < 0.3:
        del data[chance.randrange(len(data)) :]
    if data and chance.random() < 0.3:
        data[chance.randrange(len(data))] = chance.randrange(256)
    stem = chance.choice(
        ("a", "../" * 5, "x" * 9_000, "\u202e", "a\r\nX-Evil: 1", "con", "ä😀", "'\";")
    )
    return bytes(data), f"{stem}.{chance.choice(_ENDINGS)}"


def test_hostile_uploads_do_no_harm(client: TestClient, server: _Server) -> None:
    chance = random.Random(19)
    outside = set(server.data.glob("*"))
    for number in range(HOSTILE):
        data, name = _hostile(chance)
        response = _upload(client, data, name)
        assert response.status_code in (200, 413, 415, 422, 429, 431, 400), response.text
        if response.status_code != 200:
            continue
        info = response.json()
        assert info["media_type"] not in ("text/html", "image/svg+xml", "text/javascript")
        assert info["size"] == len(data) <= MAX_BYTES
        if number % 25 == 0:
            body = {"message": "q", "attachments": [info["id"]]}
            asked = client.post("/api/chat", json=body)
            assert asked.status_code in (200, 422)
            if asked.status_code == 200:
                where = (
                    f"/api/conversations/{asked.headers['x-conversation-id']}/messages/"
                    f"{asked.headers['x-parent-id']}/attachments/0"
                )
                read = client.get(where)
                assert read.content == data
                assert "html" not in read.headers["content-type"]
                assert read.headers["content-disposition"].startswith("attachment")
        assert client.delete(f"/api/files/{info['id']}").status_code in (204, 404)
    assert server.stored == []
    assert set(server.data.glob("*")) - outside <= {server.data / "files"}


def test_an_upload_that_breaks_off_at_any_byte_leaves_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data").open()
    host, port = "127.0.0.1", int(stage.url.rpartition(":")[2])
    data = png()
    head = (
        f"POST /api/files HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/octet-stream\r\n"
        f"x-file-name: a.png\r\ncontent-length: {len(data)}\r\n\r\n"
    ).encode()
    for end in range(len(data)):
        with socket.create_connection((host, port), 10) as connection:
            connection.sendall(head + data[:end])
    folder = tmp_path / "data" / "files"
    give_up_s = time.monotonic() + 10
    while (left := [one for one in folder.glob("**/*") if one.is_file()]) or not folder.exists():
        assert time.monotonic() < give_up_s, left
        time.sleep(0.02)
    stage.close()
