"""Tapes: the bytes, the timing, the bounds, and never a key."""

from __future__ import annotations

import gzip
import zlib
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.engine.middleware.redaction.secret_hider import hide_value
from headrace.errors import UsageError
from headrace.recording.exchange_recorder import ExchangeRecorder, RecordingFolder, RecordingLimits
from headrace.recording.file import load_recording
from headrace.secrets import API_KEYS, Mask
from tests.transport.upstream import KEY, halves_of

HEADERS = [
    ("Host", "127.0.0.1:4000"),
    ("Authorization", f"Bearer {KEY}"),
    ("x-api-key", "SECOND-CANARY-1"),
    ("x-api-key", "THIRD-CANARY-12"),
    ("Cookie", "session=COOKIE-CANARY-1"),
    ("X-Unknown", "UNKNOWN-CANARY-1"),
    ("Connection", "keep-alive"),
    ("x-stainless-package-version", "1.99.99-beta"),
    ("Content-Type", "application/json"),
    ("User-Agent", "ua"),
]
URL = "https://user:USER-CANARY-1@h/v1/messages?key=QUERY-CANARY-1&alt=sse"


def shelf(folder: Path, **limits: int) -> RecordingFolder:
    mask = Mask(patterns=API_KEYS)
    now = iter(range(0, 10**9))
    return RecordingFolder(
        folder,
        hide=lambda value: hide_value(mask, value),
        limits=RecordingLimits(**limits),
        clock=lambda: next(now) / 1000,
    )


def recorded(
    where: RecordingFolder, *reads: bytes, body: bytes = b"", **answer: str
) -> ExchangeRecorder:
    tape = ExchangeRecorder(where, "POST", URL, HEADERS)
    tape.ask(body)
    tape.begin(200, {"Content-Type": "text/event-stream", **answer})
    for read in reads:
        tape.feed(read)
    tape.close()
    return tape


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@given(data=st.binary(min_size=1, max_size=200), cuts=st.lists(st.integers(0, 200), max_size=6))
def test_any_slicing_keeps_every_byte_and_every_read(data: bytes, cuts: list[int]) -> None:
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    reads = [data[start:end] for start, end in pairwise(ends)]
    with TemporaryDirectory() as name:
        tape = recorded(shelf(Path(name)), *reads)
        assert tape.name is not None
        file = Path(name) / tape.name
        assert file.read_bytes() == data
        assert list(load_recording(file).cut(data)) == reads


@given(cuts=st.lists(st.integers(0, 400), max_size=8), before=st.binary(max_size=20))
def test_a_key_that_comes_back_never_reaches_the_disk(cuts: list[int], before: bytes) -> None:
    echo = f"data: {KEY} and SECOND-CANARY-1, THIRD-CANARY-12, COOKIE-CANARY-1 QUERY-CANARY-1"
    data = before + echo.encode() * 3
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    with TemporaryDirectory() as name:
        tape = ExchangeRecorder(shelf(Path(name)), "POST", URL, HEADERS)
        tape.begin(200, {})
        for start, end in pairwise(ends):
            tape.feed(data[start:end])
            for content in written(Path(name)).values():
                assert b"sk-CANARY" not in content
        tape.close()
        assert tape.name is not None
        kept = (Path(name) / tape.name).read_bytes()
        assert len(kept) == len(data)
        for secret in (KEY, "SECOND-CANARY", "THIRD-CANARY", "QUERY-CANARY"):
            assert secret.encode() not in kept


@pytest.mark.parametrize("ends", ["by a kill", "by a cut"])
def test_no_half_of_a_key_is_left_however_the_recording_ends(tmp_path: Path, ends: str) -> None:
    data = f"data: {KEY}\n\n".encode()
    for cut in range(1, len(data)):
        tape = ExchangeRecorder(shelf(tmp_path / f"{cut}"), "POST", URL, HEADERS)
        tape.begin(200, {})
        tape.feed(data[:cut])
        if ends == "by a cut":
            tape.close()
        assert tape.name is not None
        kept = (tmp_path / f"{cut}" / tape.name).read_bytes()
        assert halves_of(KEY, kept) == []
        tape.close()


def test_a_key_that_begins_with_another_leaves_nothing_behind(tmp_path: Path) -> None:
    longer = f"{KEY}-and-MORE-CANARY"
    for cut in range(1, len(longer)):
        tape = ExchangeRecorder(
            shelf(tmp_path / f"{cut}"), "POST", URL, [*HEADERS, ("x-other", longer)]
        )
        tape.begin(200, {})
        tape.feed(longer[:cut].encode())
        tape.feed(longer[cut:].encode())
        tape.close()
        assert tape.name is not None
        assert (tmp_path / f"{cut}" / tape.name).read_bytes() == b"*" * len(longer)


def test_what_was_read_is_on_disk_before_the_next_read(tmp_path: Path) -> None:
    tape = ExchangeRecorder(shelf(tmp_path), "GET", "https://h/v1/models", [])
    tape.begin(200, {})
    for number in range(1, 4):
        tape.feed(b"abc")
        assert tape.name is not None
        assert (tmp_path / tape.name).read_bytes() == b"abc" * number
    tape.close()


def test_no_key_is_written_from_headers_query_or_body(tmp_path: Path) -> None:
    body = {
        "model": "m",
        "max_tokens": 5,
        "api_key": "BODY-CANARY-1",
        "mcp_servers": [{"url": "u", "authorization_token": "MCP-CANARY-1"}],
        "tools": [{"headers": {"Authorization": "Bearer MCP-CANARY-2"}}],
        "messages": [{"role": "user", "content": f"keys {KEY}, sk-OTHER-CANARY-0123456789ab"}],
    }
    answer = {"request-id": "req_1", "set-cookie": "ANSWER-CANARY-1", "x-odd": KEY}
    recorded(shelf(tmp_path), b"data: x\n\n", body=msgspec.json.encode(body), **answer)
    for name, content in written(tmp_path).items():
        assert b"CANARY" not in name.encode() + content
    request = msgspec.json.decode(written(tmp_path)["001-messages.sse.request.json"])
    assert request["method"] == "POST"
    assert request["url"] == "https://h/v1/messages"
    assert request["query"] == {"key": "[secret]", "alt": "sse"}
    assert request["headers"] == {"Content-Type": "application/json", "User-Agent": "ua"}
    assert request["body"]["max_tokens"] == 5
    assert request["answer"] == {
        "status": 200,
        "headers": {"content-type": "text/event-stream", "request-id": "req_1"},
        "ended": "whole",
    }


def test_what_is_no_secret_is_not_masked_in_the_answer(tmp_path: Path) -> None:
    data = b": keep-alive 1.99.99-beta application/json 127.0.0.1:4000\n\n"
    recorded(shelf(tmp_path), data)
    assert written(tmp_path)["001-messages.sse"] == data


def test_a_key_in_the_path_names_no_file(tmp_path: Path) -> None:
    url = f"https://h/v1/{KEY}"
    tape = ExchangeRecorder(shelf(tmp_path), "GET", url, [])
    tape.begin(200, {})
    tape.feed(b"x")
    tape.close()
    assert "CANARY" not in "".join(written(tmp_path)) + tape.path
    assert all(b"CANARY" not in content for content in written(tmp_path).values())


@pytest.mark.parametrize(
    ("path", "kind", "start", "name"),
    [
        ("/v1/messages", "text/event-stream; charset=utf-8", b"event: x", "001-messages.sse"),
        ("/v1/chat/completions", "application/json", b"data: {}", "001-completions.sse"),
        ("/api/chat", "application/x-ndjson", b"{", "001-chat.ndjson"),
        ("/v1/models", "application/json", b"{", "001-models.json"),
        ("/", "text/plain", b"hi", "001-answer.txt"),
        ("/a/..%2f..%2fetc", "", b"\0", "001-2f..-2fetc.bin"),
        ("/m:streamGenerateContent/", "application/json", b"[", "001-m-streamGenerateContent.json"),
    ],
)
def test_a_file_is_named_so_that_it_can_be_decoded(
    path: str, kind: str, start: bytes, name: str, tmp_path: Path
) -> None:
    tape = ExchangeRecorder(shelf(tmp_path), "POST", f"https://h{path}", [])
    tape.begin(200, {"content-type": kind})
    tape.feed(start)
    tape.close()
    assert tape.name == name
    assert {file.parent for file in tmp_path.rglob("*")} == {tmp_path}


def test_nothing_that_is_there_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "041-old.sse").write_bytes(b"old")
    (tmp_path / "notes").write_bytes(b"mine")
    assert recorded(shelf(tmp_path), b"x").name == "042-messages.sse"
    assert recorded(shelf(tmp_path), b"x").name == "043-messages.sse"


@pytest.mark.parametrize(
    ("limits", "reads", "kept", "ended"),
    [
        ({"max_response_bytes": 5}, [b"abc", b"def", b"g"], b"abc", "cut at max_response_bytes=5"),
        ({"max_reads": 2}, [b"a", b"b", b"c"], b"ab", "cut at max_reads=2"),
        ({"max_exchanges": 0}, [b"a"], None, "not kept: there are max_exchanges=0 of them"),
    ],
)
def test_what_passes_a_limit_is_counted_and_not_kept(
    limits: dict[str, int], reads: list[bytes], kept: bytes | None, ended: str, tmp_path: Path
) -> None:
    tape = recorded(shelf(tmp_path, **limits), *reads)
    assert tape.ended == ended
    assert tape.bytes == sum(map(len, reads))
    assert (tape.name and (tmp_path / tape.name).read_bytes()) == kept


def test_a_body_past_its_limit_is_not_kept(tmp_path: Path) -> None:
    recorded(shelf(tmp_path, max_request_bytes=3), b"x", body=b'"CANARY"')
    request = msgspec.json.decode(written(tmp_path)["001-messages.sse.request.json"])
    assert request["body"] == "8 bytes, more than max_request_bytes"


def test_a_body_that_is_no_json_is_not_kept(tmp_path: Path) -> None:
    recorded(shelf(tmp_path), b"x", body=b"\xffCANARY")
    assert b"CANARY" not in written(tmp_path)["001-messages.sse.request.json"]


def test_what_is_compressed_all_the_same_is_kept_plain(tmp_path: Path) -> None:
    data = gzip.compress(b"data: plain\n\n")
    encoding: dict[str, Any] = {"Content-Encoding": "gzip"}
    recorded(shelf(tmp_path), data[:7], data[7:], **encoding)
    assert written(tmp_path)["001-messages.sse"] == b"data: plain\n\n"
    damaged = recorded(shelf(tmp_path), b"\x1f\x8b nonsense", **encoding)
    assert "damaged" in damaged.ended


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_what_is_cut_inside_its_compression_is_not_whole(tmp_path: Path, encoding: str) -> None:
    plain = b"data: plain\n\n" * 50
    data = gzip.compress(plain) if encoding == "gzip" else zlib.compress(plain)
    answer: dict[str, Any] = {"Content-Encoding": encoding}
    assert recorded(shelf(tmp_path), data, **answer).ended == "whole"
    for cut in range(1, len(data)):
        tape = recorded(shelf(tmp_path / f"{cut}"), data[:cut], **answer)
        assert "was cut before its end" in tape.ended
    request = msgspec.json.decode(written(tmp_path / "9")["001-messages.sse.request.json"])
    assert "was cut before its end" in request["answer"]["ended"]


def test_an_end_that_is_known_is_told_before_one_that_is_found(tmp_path: Path) -> None:
    tape = ExchangeRecorder(shelf(tmp_path), "POST", URL, HEADERS)
    tape.begin(200, {"Content-Encoding": "gzip"})
    tape.feed(gzip.compress(b"plain")[:-3])
    tape.close("the client left")
    assert tape.ended == "the client left"


def test_an_empty_answer_leaves_no_file(tmp_path: Path) -> None:
    assert recorded(shelf(tmp_path)).name is None
    assert written(tmp_path) == {}


def test_a_full_disk_stops_the_writing_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = shelf(tmp_path)

    def full(*_: object) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(where, "open", full)
    tape = recorded(where, b"a", b"b")
    assert tape.ended == "cannot be written: No space left on device"
    assert tape.bytes == 2


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot record into"):
        shelf(tmp_path / "file" / "folder")
