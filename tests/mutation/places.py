"""Where in a stream errors and damages are put."""

from __future__ import annotations

from tests.mutation.dialect import frames_to_end
from tests.mutation.sample import Sample
from tests.mutation.samples import IS_LONG

_MAX_PLACES = 16 if IS_LONG else 7


def error_places(sample: Sample) -> list[int]:
    """Numbers of frames after which an error is inserted, from 0 to all of them."""
    every = range(len(sample.frames) + 1)
    end = frames_to_end(sample)
    return _choose(every, {0, 1, end - 1, end, len(sample.frames)})


def damage_places(sample: Sample) -> list[int]:
    """Indexes of the frames that are damaged."""
    every = range(len(sample.frames))
    end = frames_to_end(sample)
    return _choose(every, {0, end - 1, max(0, end - 2), len(sample.frames) - 1})


def _choose(every: range, always: set[int]) -> list[int]:
    if len(every) <= _MAX_PLACES:
        return list(every)
    step = len(every) / (_MAX_PLACES - len(always) + 1)
    spread = {int(number * step) for number in range(1, _MAX_PLACES - len(always) + 1)}
    return sorted(always | spread)
