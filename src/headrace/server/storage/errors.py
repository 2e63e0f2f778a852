"""Errors of every storage."""

from __future__ import annotations

from headrace.errors import HeadraceError


class StorageFailed(HeadraceError):
    """A read or write of the database failed; nothing was changed."""

    public_text = "the answer could not be saved"
    """What clients are told; the error itself is for the log of the server."""


class TextRefused(StorageFailed):
    """The database cannot store a text, such as one with a NUL, so nothing has it as its id."""


class RunTaken(StorageFailed):
    """Another server has claimed the run: what this one still writes is refused."""


class SearchFailed(HeadraceError):
    """A search took too long, or too many searches are waiting."""
