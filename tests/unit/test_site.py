"""The documentation site contains every page and builds without warnings."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    # The builder needs both in one folder, and writes into it.
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    zensical = str(Path(sys.executable).parent / "zensical")
    built = subprocess.run(
        [zensical, "build", "--strict", "--config-file", "mkdocs.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "site" / "tutorial.html").is_file()


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert [str(page) for page in pages if str(page) not in menu] == []
