"""Print every violation of the mutated streams, grouped, with the smallest stream that shows it.

python -m tests.mutation
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable

from tests.mutation.judge import Verdict, Violation, judge_damages, judge_errors, judge_harmless
from tests.mutation.places import damage_places, error_places
from tests.mutation.sample import Sample
from tests.mutation.samples import authored_samples, recorded_samples

_MAX_SHOWN_BYTES = 1_500
JUDGES: dict[str, Callable[[Sample], Verdict]] = {
    "harmless": judge_harmless,
    "errors": lambda sample: judge_errors(sample, error_places(sample)),
    "damages": lambda sample: judge_damages(sample, damage_places(sample)),
}


def main() -> None:
    """Judge all samples and print what is wrong."""
    samples = authored_samples() + recorded_samples()
    for kind, judge in JUDGES.items():
        verdicts = [judge(sample) for sample in samples]
        violations = [one for verdict in verdicts for one in verdict.violations]
        _print(
            f"# {kind}: {len(samples)} streams, {sum(v.cases for v in verdicts)} cases, "
            f"{len(violations)} violations, {sum(v.quiet_losses for v in verdicts)} quiet losses, "
            f"{sum(v.broken_calls for v in verdicts)} broken calls that can be run\n"
        )
        _print_groups(violations)


def _print_groups(violations: list[Violation]) -> None:
    groups: defaultdict[tuple[str, str, str], list[Violation]] = defaultdict(list)
    for one in violations:
        groups[one.sample.dialect, one.mutation, one.why.partition(":")[0]].append(one)
    for (dialect, mutation, _), found in sorted(groups.items()):
        smallest = min(found, key=lambda one: len(_bytes(one)))
        _print(f"## {dialect}: {mutation} ({len(found)} times)\n{smallest}")
        shown = _bytes(smallest)
        cut = "" if len(shown) <= _MAX_SHOWN_BYTES else f"… ({len(shown)} bytes)"
        _print(f"    {shown[:_MAX_SHOWN_BYTES]!r}{cut}\n")


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


def _bytes(violation: Violation) -> bytes:
    data = violation.data
    return data if isinstance(data, bytes) else b"".join(data)


if __name__ == "__main__":
    main()
