"""`python -m tests.fuzz --seconds N`: libFuzzer (through atheris) on the decoder.

`atheris.Fuzz` never returns, so the fuzzer is a child of this process, which reads its
lines, sums them up, and says how to replay what it found. Nothing here imports Headrace at
once: the child must do that under instrumentation, or there is no coverage to be guided by.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.shared import shared

MAX_SEED_BYTES = 4_096
MAX_INPUT_BYTES = 8_192
MAX_RECORDED_SEEDS = 60
# The library's own failure code; a finding of ours is 1, so that both are told apart.
NO_ATHERIS = 3

_STATE = re.compile(r"^#(\d+)\t\S+\s+cov: (\d+) ft: \d+ corp: (\d+)")
_NOISE = ("INFO:", "#", '"', "WARNING: Failed to find function", "Dictionary:")
_ARTIFACT = re.compile(r"Test unit written to (\S+)")


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, or replay one file; the exit code is not 0 where something was found."""
    options = _parser().parse_args(arguments)
    if options.replay:
        return replay(options.replay)
    if options.child:
        return _fuzz_for_ever(options.child)
    with tempfile.TemporaryDirectory() as folder:
        corpus = options.corpus or Path(folder) / "corpus"
        return fuzz(options, corpus, Path(folder))


def replay(path: Path) -> int:
    """Run one input without the fuzzer; its traceback is the answer."""
    importlib.import_module("tests.fuzz.targets").check(path.read_bytes())
    print(f"{path}: nothing wrong")
    return 0


def fuzz(options: argparse.Namespace, corpus: Path, folder: Path) -> int:
    """Run the fuzzer until the time or the inputs are over, or something is found."""
    from tests.fuzz.seeds import words  # noqa: PLC0415

    seeds = folder / "seeds"
    for path in (seeds, corpus):
        path.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seed_inputs()):
        (seeds / f"{number:04}").write_bytes(seed)
    dictionary = folder / "words"
    dictionary.write_text("".join(f'"{_escaped(word)}"\n' for word in words()))
    flags = [
        f"-max_total_time={options.seconds}",
        f"-runs={number + 1 + options.runs if options.runs else -1}",
        f"-max_len={MAX_INPUT_BYTES}",
        f"-dict={dictionary}",
        f"-artifact_prefix={options.artifacts}/",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
    ]
    command = [sys.executable, "-m", "tests.fuzz", "--child", *flags, str(corpus), str(seeds)]
    return _watch(command, number + 1)


def seed_inputs() -> Iterator[bytes]:
    """Each stream for the default decoder and for two others, over all of them in turn."""
    from tests.fuzz.seeds import streams  # noqa: PLC0415

    for number, stream in enumerate([*streams(), *_recorded()]):
        for choice in (0, number * 37 % 256, number * 73 % 256):
            yield bytes((choice, number % 256)) + stream


def _recorded() -> list[bytes]:
    folder = shared("corpus/streams")
    if folder is None:
        return []
    small = (path for path in sorted(folder.rglob("*")) if _is_small(path))
    return [path.read_bytes() for path, _ in zip(small, range(MAX_RECORDED_SEEDS), strict=False)]


def _is_small(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= MAX_SEED_BYTES


def _fuzz_for_ever(flags: list[str]) -> int:
    try:
        import atheris  # noqa: PLC0415
    except ImportError as error:
        print(f"atheris cannot be imported: {error}", file=sys.stderr)
        return NO_ATHERIS
    # Only what is tested counts as coverage; the checks themselves would drown it.
    with atheris.instrument_imports(include=["headrace"]):
        targets = importlib.import_module("tests.fuzz.targets")
    atheris.Setup(["tests.fuzz", *flags], targets.check)
    atheris.Fuzz()
    return 0


def _watch(command: list[str], seeds: int) -> int:
    first: re.Match[str] | None = None
    last: re.Match[str] | None = None
    artifact: str | None = None
    with subprocess.Popen(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for raw in child.stdout:
            line = raw.decode("utf-8", "replace")
            state = _STATE.match(line)
            if state:
                first, last = first or (state if "INITED" in line else None), state
                continue
            found = _ARTIFACT.search(line)
            artifact = found[1] if found else artifact
            if not line.startswith(_NOISE):
                print(line, end="", flush=True)
    if first and last:
        print(
            f"fuzz: {last[1]} inputs; coverage {first[2]} -> {last[2]} edges, "
            f"corpus {first[3]} -> {last[3]} of {seeds} seeds"
        )
    if child.returncode == 0:
        return 0
    if artifact:
        print(f"fuzz: FOUND; replay with: python -m tests.fuzz --replay {artifact}")
    return child.returncode if child.returncode == NO_ATHERIS else 1


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=0, help="stop after this many mutations")
    parser.add_argument("--corpus", type=Path, help="keep what was learnt in this folder")
    parser.add_argument("--artifacts", type=Path, default=Path(), help="where crash-* files go")
    parser.add_argument("--replay", type=Path, help="run one input and stop")
    parser.add_argument("--child", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
