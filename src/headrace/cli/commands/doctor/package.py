"""Checks of the installation: versions, extras, the web UI and keys. Keys are never shown."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from platform import python_implementation, python_version

import headrace
from headrace.cli.commands.doctor.finding import Finding
from headrace.providers import CATALOG, find_key

_MIN_PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:[^;]*?>=\s*([0-9.]+))?")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def package_findings(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield all findings about the installation."""
    yield _python()
    version = f"{headrace.__version__} · msgspec {_version('msgspec')}"
    yield Finding("headrace", "ok", version)
    yield from _extras()
    yield _page()
    yield from _keys(environ)


def _python() -> Finding:
    message = f"{python_version()} ({python_implementation()})"
    if sys.version_info[:2] < _MIN_PYTHON:
        return Finding("python", "error", message, "Headrace needs Python 3.11 or later")
    return Finding("python", "ok", message)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


# --- extras ------------------------------------------------------------------------


def _extras() -> Iterator[Finding]:
    """Yield one finding for the complete extras, and one for each incomplete one."""
    needs = extras_of(_requirements())
    whole = [extra for extra, wants in needs.items() if not any(map(_lack, wants.items()))]
    if whole:
        yield Finding("extras", "ok", ", ".join(whole))
    for extra, wants in needs.items():
        lacks = [lack for want in wants.items() if (lack := _lack(want))]
        if lacks:
            is_old = any("older" in lack for lack in lacks)
            fix = f"pip install --upgrade 'headrace[{extra}]'"
            message = f"{extra}: {', '.join(lacks)}"
            yield Finding("extras", "error" if is_old else "note", message, fix)


def _requirements() -> list[str]:
    try:
        return metadata.requires("headrace") or []
    except metadata.PackageNotFoundError:
        return []


def extras_of(requirements: list[str]) -> dict[str, dict[str, str]]:
    """Return the packages of each extra, with their minimum versions."""
    found: dict[str, dict[str, str]] = {}
    for line in requirements:
        extra, wanted = _EXTRA.search(line), _REQUIREMENT.match(line)
        if extra is not None and wanted is not None:
            found.setdefault(extra[1], {})[wanted[1]] = wanted[2] or ""
    return found


def _lack(want: tuple[str, str]) -> str | None:
    name, least = want
    version = _version(name)
    if version is None:
        return f"{name} is missing"
    if numbers(version) < numbers(least):
        return f"{name} {version} is older than {least}"
    return None


def numbers(version: str) -> list[int]:
    """Return the leading numbers of a version, for comparison."""
    return [int(part) for part in re.findall(r"\d+", re.split(r"[^0-9.]", version)[0])]


# --- the page and the keys -----------------------------------------------------------


def _page() -> Finding:
    # The path is repeated here, because importing the server needs packages that may be missing.
    index = Path(headrace.__file__).parent / "server" / "static" / "index.html"
    if index.is_file():
        return Finding("web UI", "ok", "the web UI is built")
    fix = "run `make web` in a clone, or install a wheel, which includes it"
    return Finding("web UI", "warning", "the web UI is not built", fix)


def _keys(environ: Mapping[str, str]) -> Iterator[Finding]:
    wanting = [provider for provider in CATALOG.values() if provider.key_variables]
    ready = [provider.name for provider in wanting if find_key(provider, environ) is not None]
    if ready:
        others = len(wanting) - len(ready)
        message = f"set for {', '.join(ready)}" + f"; not set: {others}" * bool(others)
        yield Finding("keys", "ok", message)
    else:
        fix = "headrace providers lists the variables; rehearsal:demo needs no key"
        yield Finding("keys", "note", "none is set", fix)
    # Several providers may use the same key variable.
    variables = dict.fromkeys(name for provider in wanting for name in provider.key_variables)
    for name in variables:
        if _is_odd(environ.get(name, "")):
            message = f"{name} starts or ends with a space, or has characters that no API key has"
            yield Finding("keys", "error", message, f"set {name} again, to the key alone")
    yield from _model(environ)


def _is_odd(key: str) -> bool:
    return bool(key) and (key != key.strip() or not key.isascii() or not key.isprintable())


def _model(environ: Mapping[str, str]) -> Iterator[Finding]:
    model = environ.get("HEADRACE_MODEL")
    if not model:
        return
    name, colon, rest = model.partition(":")
    if name in CATALOG and colon and rest:
        yield Finding("model", "ok", f"HEADRACE_MODEL is {model}")
        return
    fix = "write it as provider:model; `headrace providers` lists the providers"
    yield Finding(
        "model", "error", f"HEADRACE_MODEL is {model}, which does not name a provider", fix
    )
