"""The page about providers, and the tables that are read off the catalog and the encoders."""

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

# Where a grammar's knob depends on the model: one of each generation, with its name.
_GENERATIONS = {
    "anthropic": {
        "before Claude 4.6": "claude-sonnet-4-5",
        "Claude 4.6": "claude-sonnet-4-6",
        "since Claude 5": "claude-sonnet-5",
    },
    "gemini": {"before Gemini 3": "gemini-2.5-pro", "since Gemini 3": "gemini-3-pro"},
}
# Not for a table: it says that the words are wanted, or makes room, and is the same or implied.
_COMPANIONS = {"summary", "display", "includeThoughts", "max_tokens"}


HEADS = ("name", "what it is", "dialect", "key variable", "address variable", "verified")


def provider_table() -> str:
    """All providers of the catalog."""
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


def tried() -> str:
    """What recorded streams have shown."""
    counts = recorded.load()
    exact, ambiguous = _total(counts.exact), _total(counts.ambiguous)
    wrong = _total(counts.wrong)
    rows = [
        (f"`{api}`", meaning.APIS[api], str(sum(by.values())), _providers(by))
        for api, by in _largest_first(counts.exact)
    ]
    lines = [
        f"{exact + ambiguous + wrong} recorded streams are of apis that Headrace speaks."
        f" **{exact} of the {exact + wrong} that can be scored decode exactly**: text, reasoning,"
        " calls, errors, finish and usage are what the recording says. "
        f"{ambiguous} more decode, but can be read in more ways than one, so they are not scored.",
        "",
        table(("api", "what it is", "exact", "recorded from"), rows),
    ]
    if wrong:
        lines += [f"{wrong} do not decode exactly:", "", _listed(counts.wrong)]
    return "\n".join(lines)


def _listed(counts: dict[str, dict[str, int]]) -> str:
    return "\n".join(f"- `{api}`: {_providers(by)}" for api, by in counts.items()) + "\n"


def untried() -> str:
    """What is not spoken yet."""
    rows = [
        (f"`{api}`", meaning.APIS[api], str(sum(by.values())), _providers(by))
        for api, by in _largest_first(recorded.load().unsupported)
    ]
    return table(("api", "what it is", "streams", "recorded from"), rows)


def _total(counts: dict[str, dict[str, int]]) -> int:
    return sum(sum(by.values()) for by in counts.values())


def _largest_first(
    counts: dict[str, dict[str, int]],
) -> list[tuple[str, dict[str, int]]]:
    return sorted(counts.items(), key=lambda entry: (-sum(entry[1].values()), entry[0]))


def _providers(by: dict[str, int]) -> str:
    ordered = sorted(by.items(), key=lambda entry: (-entry[1], entry[0]))
    return " · ".join(f"{name} {number}" for name, number in ordered)


# --- rules and efforts ------------------------------------------------------------


def rules() -> str:
    """The fields of `ChatRequestQuirks`."""
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
    return table(("rule", "type", "default", "meaning"), rows)


def efforts() -> str:
    """What each effort becomes, as the encoders write it; the same for several is told once."""
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
    told = [_told(provider, model, effort) for effort in EFFORTS]
    names = dict.fromkeys(name for fields in told for name in fields or ())
    varying = [name for name in names if len({str((f or {}).get(name)) for f in told}) > 1]
    return (_joined(varying), *(_cell(fields, varying) for fields in told))


def _joined(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def _cell(fields: dict[str, Any] | None, names: list[str]) -> str:
    if fields is None:
        return "refused"
    return ", ".join(str(fields[name]).lower() for name in names if name in fields) or "nothing"


def _told(provider: Provider, model: str, effort: Effort) -> dict[str, Any] | None:
    """The fields that an effort adds, by their path; None where it is refused."""
    asked = (Message(role="user", content=(TextContent("?"),)),)
    request = Request(model=model, messages=asked, provider=provider.name)
    try:
        with_effort = msgspec.structs.replace(request, options=Options(effort=effort))
        body = _flat(encode_body(provider, with_effort))
    except UsageError:
        return None
    plain = _flat(encode_body(provider, request))
    return {
        path: value
        for path, value in body.items()
        if plain.get(path) != value and path.rpartition(".")[2] not in _COMPANIONS
    }


def _flat(value: dict[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        here = f"{path}.{name}" if path else name
        flat |= _flat(inner, here) if isinstance(inner, dict) else {here: inner}
    return flat
