"""Reasoning in the manner of many models, each excerpt with the statuses a person would show.

All of it was written for this file, after the manner of recorded models; none of it is copied.
It was labelled by hand without a look at the extractor. `excerpts.jsonl` has one excerpt a line.

How it is labelled:

- A phrase counts if it says what the model does, or is about to do, in this very reasoning, and
  says it concretely: more than 15 characters in English, at least 5 in Chinese. "Think", "see",
  "do that", "think about this carefully" do not count, nor does a state ("be careful").
- English keeps the verb, begins with it, and capitalizes it: "First, I'll check the config." is
  "Check the config", "I'm now narrowing the query." is "Narrowing the query". A statement of the
  key or main point stays whole. Chinese keeps the verb as well: "接下来检查配置文件" is
  "检查配置文件"; "关键在于…" stays whole.
- A phrase ends before a comma, semicolon, colon, dash, bracket, sentence end or new line, and at
  the end of the text. It is given in full, however long: a test may accept one cut at a word.
- A sentence gives one phrase at most. "A | B" means that either is right: with or without the
  adverb before the verb, with or without the backticks.
- A title is a line that is wholly bold, a list number before it allowed, or a heading: its words
  without asterisks, hashes and final colon. A bold label with text after it is none.
- A closed marker `[STATUS: …]` gives its text verbatim, without the blanks around it, of any
  length. An empty or open one gives nothing.
- Nothing counts that is quoted, in code, in a table, in JSON, or drafted for the answer; that is
  negated, asked, supposed, merely possible, or past; that others do; that states a fact.
- `is_cut`: the text stops inside a word, and its last sentence gives nothing.

A style `trap-…` names what tempts; the list is then empty or lacks the tempting phrase.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

Source = Literal["title", "marker", "natural"]


class Status(NamedTuple):
    source: Source
    phrase: str

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The phrases of which any is right; mostly one."""
        return tuple(self.phrase.split(" | "))


@dataclass(frozen=True)
class Excerpt:
    name: str
    language: Literal["en", "zh"]
    style: str
    text: str
    statuses: tuple[Status, ...]
    is_cut: bool = False

    @property
    def is_trap(self) -> bool:
        return self.style.startswith("trap-")


def _read() -> tuple[Excerpt, ...]:
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").split("\n")
    return tuple(msgspec.json.decode(line, type=Excerpt) for line in lines if line)


EXCERPTS = _read()
