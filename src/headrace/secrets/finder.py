"""Finds secrets in a text that arrives in pieces.

The result does not depend on how the text is cut: all occurrences are found, including overlapping
ones.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from typing import Protocol, TypeAlias

from headrace.secrets.pattern import SecretPattern

Span: TypeAlias = tuple[int, int]
"""Start and end, in characters since the beginning of the text."""


class Finder(Protocol):
    """Searches one text. Nothing before `decided` can change any more."""

    decided: int

    def feed(self, text: str) -> list[Span]:
        """Return the spans found with this piece."""
        ...

    def close(self) -> list[Span]:
        """Return the remaining spans at the end of the text."""
        ...


# --- values ---------------------------------------------------------------------------


class Trie:
    """An automaton for fixed values (Aho and Corasick 1975).

    Each state is the longest suffix of the text that may become one of the values. It is built once
    and shared by all texts.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self.next: list[dict[str, int]] = [{}]
        self.fail: list[int] = [0]
        self.depth: list[int] = [0]
        self.found: list[int] = [0]
        """The length of the longest value that ends in a state."""
        for value in values:
            self._add(value)
        self._link()
        firsts = "".join(self.next[0])
        self.first = re.compile(f"[{re.escape(firsts)}]") if firsts else None

    def _add(self, value: str) -> None:
        state = 0
        for char in value:
            if char not in self.next[state]:
                self.next[state][char] = len(self.next)
                self.next.append({})
                self.fail.append(0)
                self.depth.append(self.depth[state] + 1)
                self.found.append(0)
            state = self.next[state][char]
        self.found[state] = len(value)

    def _link(self) -> None:
        waiting = deque(self.next[0].values())
        while waiting:
            state = waiting.popleft()
            for char, child in self.next[state].items():
                self.fail[child] = self.step(self.fail[state], char)
                self.found[child] = max(self.found[child], self.found[self.fail[child]])
                waiting.append(child)

    def step(self, state: int, char: str) -> int:
        """Return the state after one more character."""
        while char not in self.next[state]:
            if not state:
                return 0
            state = self.fail[state]
        return self.next[state][char]


class ValueFinder:
    """Finds fixed values."""

    def __init__(self, trie: Trie) -> None:
        self.decided = 0
        self._trie = trie
        self._state = 0
        self._seen = 0

    def feed(self, text: str) -> list[Span]:
        trie, state, found = self._trie, self._state, list[Span]()
        at = 0
        while at < len(text):
            if not state:
                # No value has begun: skip to the next possible start.
                first = trie.first.search(text, at) if trie.first else None
                if first is None:
                    break
                at = first.start()
            state = trie.step(state, text[at])
            at += 1
            if trie.found[state]:
                end = self._seen + at
                found.append((end - trie.found[state], end))
        self._state = state
        self._seen += len(text)
        self.decided = self._seen - trie.depth[state]
        return found

    def close(self) -> list[Span]:
        self.decided = self._seen
        return []


# --- patterns -------------------------------------------------------------------------


class PatternFinder:
    """Finds matches of one pattern."""

    # How far a pattern may look back.
    _CONTEXT_CHARS = 32

    def __init__(self, pattern: SecretPattern) -> None:
        self.decided = 0
        self._pattern = pattern
        self._text = ""
        # The offset of `_text`, the earliest start of the next match, and whether the rest of the
        # word is hidden.
        self._base = 0
        self._next = 0
        self._is_hiding = False

    def feed(self, text: str) -> list[Span]:
        run = self._pattern.run
        if run is None:
            return self._extend_word(text, is_over=False)
        found: list[Span] = []
        at = 0
        for word in run.finditer(text):
            if word.start() > at:
                found += self._end_word(word.start() - at)
            found += self._extend_word(word[0], is_over=False)
            at = word.end()
        if at < len(text):
            found += self._end_word(len(text) - at)
        return found

    def close(self) -> list[Span]:
        return self._extend_word("", is_over=True)

    def _end_word(self, chars: int) -> list[Span]:
        """Handle the end of a word, followed by `count` characters that belong to none."""
        found = self._extend_word("", is_over=True)
        self._base += len(self._text) + chars
        self._text = ""
        self._next = 0
        self.decided = self._base
        self._is_hiding = False
        return found

    def _extend_word(self, more: str, *, is_over: bool) -> list[Span]:
        """Handle more characters of a word, or its end."""
        self._text += more
        found: list[Span] = []
        if self._is_hiding:
            found += self._rest()
        else:
            self._search(found, is_over)
        self.decided = self._base + self._next
        spare = self._next - self._CONTEXT_CHARS
        if spare > 0:
            self._text = self._text[spare:]
            self._base += spare
            self._next -= spare
        return found

    def _search(self, found: list[Span], is_over: bool) -> None:
        text, size = self._text, self._pattern.max_chars
        # From here on a match may still grow or begin.
        open_from = len(text) if is_over else max(len(text) - size + 1, 0)
        while match := self._pattern.regex.search(text, self._next):
            start = match.start()
            if start >= open_from:
                break
            bounded = self._pattern.regex.match(text, start, start + size)
            if bounded is None or bounded.end() == start:
                self._next = start + 1
                continue
            found.append((self._base + start, self._base + bounded.end()))
            self._next = bounded.end()
            if bounded.end() - start == size and self._pattern.run is not None:
                self._is_hiding = True
                found += self._rest()
                return
        self._next = max(self._next, open_from)

    def _rest(self) -> list[Span]:
        span = (self._base + self._next, self._base + len(self._text))
        self._next = len(self._text)
        return [span] if span[0] < span[1] else []
