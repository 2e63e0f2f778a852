"""Tables about providers, derived from the catalog, the encoders and the recorded streams."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from docs import meaning, recorded
from docs.outline import default, field_docs, field_types, table
from headrace.content import TextContent
from headrace.encoders import ChatRequestQuirks, Effort, Options, Request
from headrace.encoders.chat.quirks import EFFORTS
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.providers import CATALOG, Provider
from headrace.turn.model import encode_body

# For dialects whose effort field depends on the model: one model of each generation.
_GENERATIONS = {
    "anthropic": {
        "before Claude 4.6": "claude-sonnet-4-5",
        "Claude 4.6": "claude-sonnet-4-6",
        "since Claude 5": "claude-sonnet-5",
    },
    "gemini": {"before Gemini 3": "gemini-2.5-pro", "since Gemini 3": "gemini-3-pro"},
}
# Fields that are sent together with an effort, but do not set it.
_COMPANIONS = {"summary", "display", "includeThoughts", "max_tokens"}


HEADS = ("name", "what it is", "dialect", "key variable", "address variable", "verified")


def provider_table() -> str:
    """Return the table of all providers."""
    rows = [
        (
            f"`{row.name}`",
            f"[{row.title}]({row.source})",
            f"[`{row.dialect}`](topics/dialects.md#{row.dialect})",
            " or ".join(f"`{name}`" for name in row.key_variables) or "none needed",
            _address(row),
            row.verified,
        )
        for row in CATALOG.values()
    ]
    return table(HEADS, rows)


def _address(provider: Provider) -> str:
    if provider.base_url_variable is None:
        return ""
    needed = " (needed)" if provider.base_url is None else ""
    return f"`{provider.base_url_variable}`{needed}"


def supported_streams() -> str:
    """Return the text and the table about streams that decode."""
    counts = recorded.load()
    exact, ambiguous = _total(counts.exact), _total(counts.ambiguous)
    wrong = _total(counts.wrong)
    rows = [
        (f"`{api}`", meaning.APIS[api], str(sum(by.values())), _providers(by))
        for api, by in _largest_first(counts.exact)
    ]
    lines = [
        f"{exact + ambiguous + wrong} recorded streams use APIs that Headrace supports."
        f" **{exact} of the {exact + wrong} that can be scored decode exactly**: text, reasoning,"
        " calls, errors, finish reason and usage are as recorded. "
        f"{ambiguous} others decode, but are ambiguous and are not scored.",
        "",
        table(("API", "what it is", "exact", "recorded from"), rows),
    ]
    if wrong:
        lines += [f"{wrong} do not decode exactly:", "", _list_streams(counts.wrong)]
    return "\n".join(lines)


def _list_streams(counts: dict[str, dict[str, int]]) -> str:
    return "\n".join(f"- `{api}`: {_providers(by)}" for api, by in counts.items()) + "\n"


def unsupported_streams() -> str:
    """Return the table of streams of unsupported APIs."""
    rows = [
        (f"`{api}`", meaning.APIS[api], str(sum(by.values())), _providers(by))
        for api, by in _largest_first(recorded.load().unsupported)
    ]
    return table(("API", "what it is", "streams", "recorded from"), rows)


def _total(counts: dict[str, dict[str, int]]) -> int:
    return sum(sum(by.values()) for by in counts.values())


def _largest_first(
    counts: dict[str, dict[str, int]],
) -> list[tuple[str, dict[str, int]]]:
    return sorted(counts.items(), key=lambda entry: (-sum(entry[1].values()), entry[0]))


def _providers(by: dict[str, int]) -> str:
    ordered = sorted(by.items(), key=lambda entry: (-entry[1], entry[0]))
    return " · ".join(f"{name} {number}" for name, number in ordered)


# --- quirks and efforts -----------------------------------------------------------


def request_quirks() -> str:
    """Return the table of `ChatRequestQuirks`."""
    docs, types = field_docs(ChatRequestQuirks), field_types(ChatRequestQuirks)
    rows = [
        (
            f"`{field.name}`",
            f"`{types[field.name]}`",
            default(field),
            docs[field.name],
        )
        for field in msgspec.structs.fields(ChatRequestQuirks)
    ]
    return table(("quirk", "type", "default", "meaning"), rows)


def efforts() -> str:
    """Return the table of what each effort is encoded as; providers with equal rows share one."""
    by_mapping: dict[tuple[str, ...], list[str]] = {}
    for provider in CATALOG.values():
        generations = _GENERATIONS.get(provider.dialect, {"": "any"})
        for generation, model in generations.items():
            mapping = _mapping(provider, model)
            name = f"`{provider.name}`" + (f", {generation}" if generation else "")
            by_mapping.setdefault(mapping, []).append(name)
    rows = [(" · ".join(names), *mapping) for mapping, names in by_mapping.items()]
    return table(("provider", "field", *(f"`{word}`" for word in EFFORTS)), rows)


def _mapping(provider: Provider, model: str) -> tuple[str, ...]:
    encoded = [_encode_effort(provider, model, effort) for effort in EFFORTS]
    names = dict.fromkeys(name for fields in encoded for name in fields or ())
    varying = [name for name in names if len({str((f or {}).get(name)) for f in encoded}) > 1]
    return (_join_codes(varying), *(_cell(fields, varying) for fields in encoded))


def _join_codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def _cell(fields: dict[str, Any] | None, names: list[str]) -> str:
    if fields is None:
        return "refused"
    return ", ".join(str(fields[name]).lower() for name in names if name in fields) or "nothing"


def _encode_effort(provider: Provider, model: str, effort: Effort) -> dict[str, Any] | None:
    """Return the fields that an effort adds, by path, or None if it is rejected."""
    question = (Message(role="user", content=(TextContent("?"),)),)
    request = Request(model=model, messages=question, provider=provider.name)
    try:
        with_effort = msgspec.structs.replace(request, options=Options(effort=effort))
        body = _flatten(encode_body(provider, with_effort))
    except UsageError:
        return None
    plain = _flatten(encode_body(provider, request))
    return {
        path: value
        for path, value in body.items()
        if plain.get(path) != value and path.rpartition(".")[2] not in _COMPANIONS
    }


def _flatten(value: dict[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        here = f"{path}.{name}" if path else name
        flat |= _flatten(inner, here) if isinstance(inner, dict) else {here: inner}
    return flat
