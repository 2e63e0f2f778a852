"""An authored stream whose answer is JSON, and the type of its value."""

from __future__ import annotations

from typing import Any

import msgspec

from bench.streams import Stream, _add_chunk, _end_chat, _json, _pieces, _words

_CHARS_PER_PIECE = 4


class Place(msgspec.Struct):
    """One measurement."""

    name: str
    level_m: float
    is_rising: bool
    note: str


class Survey(msgspec.Struct):
    """The answer that all libraries are asked for."""

    title: str
    places: list[Place]


def survey(chunks: int) -> Stream:
    """An answer in JSON, four characters in every chunk."""
    words = _words(8 * chunks)
    places: list[Any] = []
    size = 0
    while size < _CHARS_PER_PIECE * chunks:
        note = "".join(next(words) for _ in range(6)).strip()
        place = {"name": "Kiel", "level_m": 3.25, "is_rising": True, "note": note}
        size += len(_json(place)) + 1
        places.append(place)
    text = _json({"title": "Water levels", "places": places}).decode()
    stream = Stream("chat", text=text)
    _add_chunk(stream, {"role": "assistant", "content": "", "refusal": None})
    for piece in _pieces(text, len(text) // _CHARS_PER_PIECE):
        _add_chunk(stream, {"content": piece})
    _end_chat(stream)
    return stream
