"""The page about the ux protocol agrees with the code."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, get_args

import pytest

from docs import generate
from docs import ux as ux_blocks
from headrace.cli.commands.decode.command import run as run_decode
from headrace.cli.parser import build_parser
from headrace.projections import ux
from headrace.projections.ux.frame import UXFrame
from headrace.projections.ux.segment import MessageEvent, Segment
from tests.seeds.test_003_ux import EXTENSIONS, FIELDS, NEW

PAGE = (generate.DOCS / "topics" / "ux.md").read_text("utf-8")


def test_the_frames_on_the_page_are_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    shutil.copy(generate.ANSWER, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    argv = ["decode", "--as", "ux", "answer.sse"]
    assert run_decode(build_parser().parse_args(argv)) == 0
    assert capfdbinary.readouterr().out.decode().rstrip() in PAGE


def test_every_frame_with_its_fields_is_on_the_page() -> None:
    frames = PAGE.partition("## The frames")[2].partition("## The order")[0]
    for kind in ux_blocks.structs():
        (row,) = re.findall(
            rf"^\| `{ux_blocks.type_of(kind)}` \|.*\|.*\|.*\|$", frames, re.MULTILINE
        )
        for field in kind.__struct_fields__:
            assert f"`{field}`" in row
            assert f"| `{field}` | {ux_blocks.FIELDS[field]} |" in PAGE


def test_frames_that_have_no_row_are_like_those_that_have() -> None:
    rows = ux_blocks.structs()
    others = [kind for kind in get_args(UXFrame) if kind not in rows]
    assert others
    for kind in others:
        assert kind.__struct_fields__ in [row.__struct_fields__ for row in rows]
        prefix = ux_blocks.type_of(kind).rpartition("_")[0]
        assert f"`{prefix}_started`, `_update`, `_result` | `{prefix}` |" in PAGE


def test_the_fields_of_the_specification_are_those_of_the_seed() -> None:
    names = {ux_blocks.type_of(kind) for kind in ux_blocks.structs()}
    assert names == set(FIELDS) | NEW
    for kind in ux_blocks.structs():
        name = ux_blocks.type_of(kind)
        known = FIELDS.get(name, set()) | EXTENSIONS.get(name, set())
        assert name in NEW or set(kind.__struct_fields__) == known
        assert FIELDS.get(name, set()) <= set(ux_blocks.DOCUMENT.get(name, ()))


def test_every_key_of_the_event_and_its_segments_is_on_the_page() -> None:
    for kind in (MessageEvent, *get_args(Segment)):
        for field in kind.__struct_fields__:
            assert f"| `{field}` |" in PAGE


def test_every_public_name_that_a_reader_needs_is_on_the_page() -> None:
    for name in ("UXProjection", "encode_frame", "fold_frames", "to_event"):
        assert name in ux.__all__
        assert f"`{name}`" in PAGE
