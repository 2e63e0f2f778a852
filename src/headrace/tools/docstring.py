"""Parse a docstring into the description of the function and of each argument.

Google, Sphinx and numpy style are supported. Sections about results and errors are left out:
they are for readers of the code.
"""

from __future__ import annotations

import re

import msgspec

_GOOGLE_ARGUMENTS = frozenset({"args:", "arguments:", "parameters:", "params:", "keyword args:"})
_GOOGLE_OTHERS = frozenset(
    {"returns:", "return:", "yields:", "raises:", "example:", "examples:", "note:", "notes:"}
)
_NUMPY = frozenset({"parameters", "other parameters", "returns", "yields", "raises", "examples"})
_NAME = r"\*{0,2}(?P<name>\w+)"
_GOOGLE_ENTRY = re.compile(_NAME + r"(?:\s*\([^)]*\))?\s*:\s*(?P<text>.*)")
_SPHINX_FIELD = re.compile(r":(?P<field>\w+)(?:\s+(?P<what>[^:]*))?:\s*(?P<text>.*)")
_SPHINX_ARGUMENTS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_NUMPY_ENTRY = re.compile(_NAME + r"(?:\s*,\s*\w+)*\s*(?::.*)?$")


class Docstring(msgspec.Struct, frozen=True):
    """The parts of a docstring that a model gets."""

    description: str
    arguments: dict[str, str]


def parse_docstring(doc: str) -> Docstring:
    """Parse a docstring whose indentation has already been removed."""
    reader = _Reader()
    lines = doc.splitlines()
    for number, line in enumerate(lines):
        follower = lines[number + 1].strip() if number + 1 < len(lines) else ""
        reader.feed(line, follower)
    arguments = {name: " ".join(words).strip() for name, words in reader.arguments.items()}
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(reader.description)).strip()
    return Docstring(description, {name: text for name, text in arguments.items() if text})


class _Reader:
    """Reads line by line. `_section` is where a line belongs: None is the description,
    `arguments` are entries in the current style, `other` is left out."""

    def __init__(self) -> None:
        self.description: list[str] = []
        self.arguments: dict[str, list[str]] = {}
        self._section: str | None = None
        self._entry = _GOOGLE_ENTRY
        self._entry_indent: int | None = None
        self._open: list[str] | None = None

    def feed(self, line: str, follower: str) -> None:
        text = line.strip()
        if self._is_heading(line, text, follower):
            return
        field = _SPHINX_FIELD.match(text)
        if field is not None and not line.startswith(" "):
            self._read_sphinx(field)
        elif self._section is None:
            self.description.append(line)
        elif self._section == "arguments":
            self._read_argument(line, text)
        elif text and not line.startswith(" ") and self._entry is _GOOGLE_ENTRY:
            self._leave(line)

    def _is_heading(self, line: str, text: str, follower: str) -> bool:
        word = text.lower()
        if line.startswith(" "):
            return False
        if word in _GOOGLE_ARGUMENTS | _GOOGLE_OTHERS:
            self._enter(word in _GOOGLE_ARGUMENTS, _GOOGLE_ENTRY)
            return True
        if word in _NUMPY and follower and set(follower) == {"-"}:
            self._enter(word.endswith("parameters"), _NUMPY_ENTRY)
            return True
        # The line below a numpy heading.
        return self._entry is _NUMPY_ENTRY and bool(text) and set(text) == {"-"}

    def _enter(self, is_arguments: bool, entry: re.Pattern[str]) -> None:
        self._section = "arguments" if is_arguments else "other"
        self._entry, self._entry_indent, self._open = entry, None, None

    def _leave(self, line: str) -> None:
        self._section, self._open = None, None
        self.description.append(line)

    def _read_sphinx(self, field: re.Match[str]) -> None:
        words = (field["what"] or "").split()
        self._section, self._entry, self._open = "other", _SPHINX_FIELD, None
        if field["field"] in _SPHINX_ARGUMENTS and words:
            # `:param int count: text` has the type before the name.
            self._open = self.arguments[words[-1].lstrip("*")] = [field["text"]]
            self._section = "arguments"

    def _read_argument(self, line: str, text: str) -> None:
        indent = len(line) - len(line.lstrip())
        if not text:
            return
        if self._entry is not _SPHINX_FIELD and self._begins_entry(indent, text):
            return
        if indent == 0:
            self._leave(line)
        elif self._open is not None:
            self._open.append(text)

    def _begins_entry(self, indent: int, text: str) -> bool:
        """Start an entry if this line begins one; its further lines are indented more."""
        if self._entry is _GOOGLE_ENTRY and indent == 0:
            return False
        if self._entry_indent is not None and indent > self._entry_indent:
            return False
        match = self._entry.match(text)
        if match is None:
            return False
        self._entry_indent = indent
        first = match.groupdict().get("text") or ""
        self._open = self.arguments[match["name"]] = [first]
        return True
