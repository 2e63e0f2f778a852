"""`OptionTable`: the options that a dialect has; every other option is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from headrace.encoders.request import Options
from headrace.errors import UsageError
from headrace.events import JSONObject

# Providers without a setting for caches cache by themselves. The tool choice is checked by
# `Request.tool_choice`, and the extra fields and headers are added after encoding.
_ALWAYS_KNOWN = ("tool_choice", "cache", "extra_body", "extra_headers")


class OptionTable(msgspec.Struct, frozen=True, kw_only=True):
    """The options that a dialect has. An option that is in neither list is refused when it is
    set, so a new field of `Options` is refused until an encoder lists it."""

    provider: str
    """Name of the provider in the error message."""
    fields: Mapping[str, str]
    """The options that are sent as they are, each with the provider's name for it."""
    encoded: Collection[str] = ()
    """The options that the encoder handles itself."""

    def collect(self, options: Options, lacks: Collection[str] = ()) -> JSONObject:
        """Return the options in `fields` that are set, each under the provider's name for it.

        Raises `UsageError` for options that the dialect does not have, or that are in `lacks`.
        """
        known = {*self.fields, *self.encoded, *_ALWAYS_KNOWN}.difference(lacks)
        reject_options(
            options,
            self.provider,
            *(name for name in options.__struct_fields__ if name not in known),
        )
        return {
            field: [*value] if type(value) is tuple else value
            for name, field in self.fields.items()
            if _is_set(value := getattr(options, name))
        }


def reject_options(options: Options, provider: str, *names: str) -> None:
    """Raise `UsageError` if one of these options is set, because the provider does not have it."""
    given = [name for name in names if _is_set(getattr(options, name))]
    if given:
        raise UsageError(f"{provider} has no option {', '.join(map(repr, given))}: leave it out")


def _is_set(value: Any) -> bool:
    return value not in (None, (), {})
