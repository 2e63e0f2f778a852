"""Attachments: recognized by their bytes, read from anywhere, and refused where they do not fit."""

from __future__ import annotations

import base64
import io
import json
import wave
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.attachment import MAX_BYTES, sniff_media_type
from headrace.content import FileContent, ImageContent
from headrace.encoders import Request
from headrace.errors import InputError, UsageError
from headrace.messages import Message
from headrace.turn.model import encode_body, model_for

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"


def wav() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(b"\0\0" * 10)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (PNG, None, "image/png"),
        (PNG, "wrong.jpg", "image/png"),
        (b"\xff\xd8\xff\xe0rest", None, "image/jpeg"),
        (b"GIF89a", None, "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", None, "image/webp"),
        (PDF, None, "application/pdf"),
        (wav(), None, "audio/wav"),
        (b"ID3\x04", None, "audio/mpeg"),
        (b"\0\0\0\x18ftypmp42", None, "video/mp4"),
        (b"\0\0\0\x18ftypheic", None, "image/heic"),
        ("Grüße".encode(), None, "text/plain"),
        (b"{}", "a.json", "application/json"),
        (b"# Title", "a.md", "text/markdown"),
        (b"a,b", "a.csv", "text/csv"),
        (b"plain", "a.bin", "text/plain"),
        (b"PK\x03\x04\0\xff", "a.zip", "application/zip"),
        (b"\0\xff", None, "application/octet-stream"),
        (b"", None, "text/plain"),
    ],
)
def test_the_type_is_recognized(data: bytes, name: str | None, kind: str) -> None:
    assert sniff_media_type(data, name) == kind


def test_a_path_bytes_and_a_url(tmp_path: Path) -> None:
    path = tmp_path / "chart.png"
    path.write_bytes(PNG)
    image = ImageContent(media_type="image/png", data=base64.b64encode(PNG).decode())
    assert headrace.attach(path) == headrace.attach(str(path)) == headrace.attach(PNG) == image
    assert headrace.attach("https://example.com/a%20b.pdf?x=1") == FileContent(
        media_type="application/pdf", name="a b.pdf", url="https://example.com/a%20b.pdf?x=1"
    )
    named = headrace.attach(b"x", name="notes.txt", media_type="text/x-notes")
    assert named == FileContent(media_type="text/x-notes", name="notes.txt", data="eA==")


def test_what_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.png: No such file"):
        headrace.attach(tmp_path / "none.png")
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(InputError, match=r"large\.bin: larger than 20 MB"):
        headrace.attach(large)
    with pytest.raises(InputError, match="the attachment: larger"):
        headrace.attach(b"x" * (MAX_BYTES + 1))
    with pytest.raises(UsageError, match="pass media_type="):
        headrace.attach("https://example.com/download?id=7")


def test_other_bytes_and_addresses_are_taken_too() -> None:
    assert headrace.attach(bytearray(PNG)) == headrace.attach(memoryview(PNG))
    assert headrace.attach("HTTPS://example.com/a.png").url == "HTTPS://example.com/a.png"


def test_an_open_file_and_an_empty_one_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    with pytest.raises(InputError, match=r"empty\.txt: it is empty"):
        headrace.attach(empty)
    with pytest.raises(InputError, match="the attachment: it is empty"):
        headrace.attach(b"")
    with empty.open("rb") as file, pytest.raises(UsageError, match="expected a path, a URL"):
        headrace.attach(file)  # type: ignore[arg-type]


def body_with(model: str, *content: Any) -> str:
    endpoint = model_for(model, api_key="k").endpoint
    request = Request(
        model=endpoint.model,
        provider=endpoint.provider.name,
        messages=(Message.user(*content),),
    )
    return json.dumps(encode_body(endpoint.provider, request))


@pytest.mark.parametrize(
    ("model", "data", "name"),
    [
        ("anthropic:claude-sonnet-5", b"BM\0\0\0\0\0\0\0\0", "image/bmp"),
        ("openai:gpt-5", b"II*\0", "image/tiff"),
        ("openai:gpt-5", wav(), "audio/wav"),
        ("anthropic:claude-sonnet-5", b"PK\x03\x04\xff\0", "octet-stream"),
        ("openai-chat:gpt-5", b"PK\x03\x04\xff\0", "octet-stream"),
        ("ollama:m", PDF, "application/pdf"),
    ],
)
def test_a_model_that_cannot_read_it_refuses_by_name(model: str, data: bytes, name: str) -> None:
    with pytest.raises(UsageError, match=name):
        body_with(model, headrace.attach(data), "What is this?")


@pytest.mark.parametrize(
    "model", ["anthropic:claude-sonnet-5", "openai:gpt-5", "gemini:gemini-3-pro"]
)
def test_images_documents_and_texts_are_sent(model: str) -> None:
    content = [headrace.attach(PNG), headrace.attach(PDF), headrace.attach(b"words", name="a.txt")]
    body = body_with(model, *content, "What is this?")
    assert base64.b64encode(PNG).decode() in body
    assert base64.b64encode(PDF).decode() in body
    assert "words" in body or base64.b64encode(b"words").decode() in body
