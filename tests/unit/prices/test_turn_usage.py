"""The usage at the end of a turn: whose figure counts, and when there is an estimate."""

from __future__ import annotations

import pytest

from headrace import events as ev
from headrace.outcome import END_TURN, ErrorCategory
from headrace.prices import TurnUsage
from headrace.providers import resolve
from headrace.usage import Usage

MODEL = "anthropic:claude-sonnet-4-5"
COUNTS = Usage(input_tokens=1000, output_tokens=100)


def turn_usage() -> TurnUsage:
    return TurnUsage(resolve(MODEL, api_key="k"), lambda: b'{"content":"How high is it?"}')


def test_the_figure_of_the_provider_wins() -> None:
    told = Usage(input_tokens=1000, output_tokens=100, cost=7.0)
    end = ev.TurnFinished(reason=END_TURN, usage=told)
    assert turn_usage().complete(end, 400) is end


def test_what_is_billed_is_paid_even_if_the_counts_leave_it_out() -> None:
    """A turn that compacts its context is billed for that as well."""
    billed = {"input_tokens": 9000, "output_tokens": 300}
    end = ev.TurnFinished(reason=END_TURN, usage=COUNTS, provider_data={"billed_usage": billed})
    usage = turn_usage().complete(end, 400).usage
    assert usage.input_tokens == 1000
    assert usage.cost == pytest.approx((9000 * 3 + 300 * 15) / 1e6)


@pytest.mark.parametrize(
    ("category", "chars", "reported", "is_estimated"),
    [
        ("server", 0, Usage(), False),
        ("server", 40, Usage(), True),
        ("interrupted", 0, Usage(), True),
        ("server", 0, Usage(input_tokens=5), True),
        ("server", 40, COUNTS, False),
    ],
)
def test_a_provider_that_fails_before_its_first_output_bills_nothing(
    category: ErrorCategory, chars: int, reported: Usage, is_estimated: bool
) -> None:
    end = ev.TurnFailed(category=category, message="It broke.", usage=reported)
    usage = turn_usage().complete(end, chars).usage
    assert usage.is_estimated == is_estimated
    assert (usage.cost is not None) == (is_estimated or reported == COUNTS)


def test_the_model_of_the_response_is_priced_and_else_the_requested_one() -> None:
    end = ev.TurnFinished(reason=END_TURN, usage=COUNTS)
    sonnet = (1000 * 3 + 100 * 15) / 1e6
    for named, cost in [(None, sonnet), ("not-in-the-list", sonnet), ("claude-haiku-4-5", 0.0015)]:
        completer = turn_usage()
        completer.model = named
        assert completer.complete(end, 400).usage.cost == pytest.approx(cost)
