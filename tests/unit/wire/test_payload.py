"""JSON off the wire: strict in syntax, lenient in fields, bounded in depth."""

from __future__ import annotations

import math

import msgspec
import pytest

from headrace.errors import LimitExceeded
from headrace.wire.json.payload import NotJSON, PayloadDecoder, check_depth, parse


class Inner(msgspec.Struct):
    name: str | None = None
    size: int | None = None


class Outer(msgspec.Struct):
    title: str | None = None
    count: int = 7
    inner: Inner | None = None
    many: list[Inner] | None = None


decoder = PayloadDecoder(Outer, max_depth=16)


def test_wrong_fields_are_left_out_and_the_rest_stays() -> None:
    inner = b'{"name": "a", "size": "x"}'
    data = b'{"title": 5, "count": null, "inner": %s, "many": [{"size": 1}, 3]}' % inner
    assert decoder.decode(data) == Outer(None, 7, Inner("a", None), [Inner(None, 1)])
    assert decoder.decode(b'{"inner": [], "many": {"name": "a"}}') == Outer()


@pytest.mark.parametrize("data", [b"", b"{", b'{"title":"a"} x', b"[1]", b'"x"', b"7", b"null"])
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(NotJSON):
        decoder.decode(data)


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert decoder.decode(b'{"title": "a\xffb"}').title == "a\ufffdb"


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert decoder.decode(b'{"title": "a\\ud83d", "count": 1}') == Outer("a\ufffd", 1)
    assert parse(b'{"\\ude00": ["\\ud83d", 1]}', 16) == {"\ufffd": ["\ufffd", 1]}


@pytest.mark.parametrize("data", [b"NaN", b"Infinity", b"[-Infinity]", b'{"a": NaN}'])
def test_constants_that_are_no_json_are_refused(data: bytes) -> None:
    with pytest.raises(NotJSON):
        parse(data, 16)


def test_numbers_of_any_size_are_read() -> None:
    assert parse(b"1e400", 16) == math.inf
    assert parse(b"9" * 10_000, 16) == math.inf
    assert parse(b"-" + b"9" * 100, 16) == -int("9" * 100)
    assert decoder.decode(b'{"title": "a", "huge": 1e400, "count": 1e400}') == Outer("a")


def test_depth_is_bounded_before_decoding() -> None:
    assert parse(b"[" * 16 + b"]" * 16, 16)
    for data in (b"[" * 17 + b"]" * 17, b"[" * 100_000, b'{"a":' * 100_000):
        with pytest.raises(LimitExceeded, match="max_depth=16"):
            parse(data, 16)
        with pytest.raises(LimitExceeded, match="max_depth=16"):
            decoder.decode(b'{"x":' + data)


def test_brackets_in_strings_and_wide_values_are_not_deep() -> None:
    check_depth(b'["' + b"[" * 100 + b'", "\\"[[[[[[[[[[[[[[[[[["]', 16)
    check_depth(b"[" + b"[]," * 1000 + b"[]]", 16)
