"""Seed 002: from every comment of the source document to the test that shows what it says, or to
the decision of the design that changes it. Lines are those of the document."""

from __future__ import annotations

import importlib
import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.shared import shared

_PROMISES = "tests.engine.test_promises"
_ABORTS = "tests.engine.test_abort_everywhere"
_COMPACTION = "tests.engine.test_compaction"
_MODULES = (
    _PROMISES,
    _ABORTS,
    _COMPACTION,
    "tests.engine.test_middleware_order",
    "tests.engine.test_next_request",
    "tests.engine.test_usage",
)


class Row(NamedTuple):
    """What the lines say, in our words; the tests that show it; what changes it."""

    first: int
    last: int
    says: str
    tests: tuple[str, ...]
    decision: str = ""


TABLE: tuple[Row, ...] = (
    Row(
        1,
        2,
        "one vocabulary of events, reasons and usage",
        ("test_lifecycle_events_stand_around_the_provider_stream",),
    ),
    Row(
        8,
        16,
        (
            "provider events come turn by turn, starts and ends nest, a call ends before "
            "the next begins"
        ),
        ("test_calls_nest_also_when_the_provider_interleaves_them",),
    ),
    Row(
        17,
        19,
        "the engine puts run, step and tool events around them",
        ("test_lifecycle_events_stand_around_the_provider_stream",),
    ),
    Row(
        21,
        25,
        "every event reaches every middleware; what it rewrites is what is kept",
        (
            "test_a_turn_finishes_for_everyone",
            "test_every_hook_is_called_in_the_order_of_the_list",
            "test_what_is_rewritten_is_what_is_logged_shown_and_kept",
        ),
    ),
    Row(
        29,
        32,
        "text deltas join in order; empty ones are legal",
        ("test_deltas_join_to_the_text",),
        "decision 6: empty deltas open nothing, and are no events",
    ),
    Row(
        35,
        44,
        "a call starts with its name and id, which the result mirrors",
        ("test_a_call_keeps_its_id_from_start_to_result",),
    ),
    Row(
        46,
        54,
        "argument deltas join to the arguments",
        ("test_argument_deltas_join_to_what_was_written",),
    ),
    Row(
        57,
        67,
        "a whole call is ready to run: the tool runs after it, its result follows",
        (
            "test_a_tool_runs_after_its_call_is_whole_and_before_the_next_turn",
            "test_malformed_arguments_never_run",
        ),
    ),
    Row(
        70,
        77,
        "reasoning deltas join, and are replayed word for word where tools are involved",
        (
            "test_signed_reasoning_goes_back_word_for_word_when_tools_are_involved",
            "test_reply_and_result_go_back_word_for_word",
        ),
    ),
    Row(
        80,
        88,
        "reasoning ends with its signature, which is kept beside the text and replayed",
        (
            "test_signed_reasoning_goes_back_word_for_word_when_tools_are_involved",
            "test_reasoning_without_an_end_is_kept",
        ),
    ),
    Row(
        91,
        96,
        "redacted reasoning comes whole, is opaque, and is replayed",
        ("test_redacted_reasoning_is_one_block_and_goes_back",),
    ),
    Row(
        99,
        110,
        "a turn ends with reason, usage and service tier; a run may have several",
        (
            "test_a_turn_finishes_for_everyone",
            "test_each_count_has_its_meaning_and_is_summed_over_turns",
        ),
    ),
    Row(
        114,
        118,
        "a run starts once, before the first request",
        (
            "test_run_started_comes_once_and_before_the_first_request",
            "test_run_started_comes_also_when_a_hook_stops_the_run_at_once",
        ),
    ),
    Row(
        121,
        129,
        "a step is one turn and its calls, counted from 0, bounded",
        (
            "test_steps_are_counted_from_0",
            "test_max_iterations_is_an_abort",
        ),
    ),
    Row(
        132,
        143,
        "a step ends with the messages so far",
        ("test_messages_can_be_asked_for_at_any_moment",),
        "decision 16: no messages in the log; run.messages has them at any moment",
    ),
    Row(
        146,
        157,
        "a result comes after its call and before the next turn, and stays an error",
        (
            "test_a_tool_runs_after_its_call_is_whole_and_before_the_next_turn",
            "test_an_error_result_stays_one_in_the_next_turn",
        ),
    ),
    Row(
        160,
        171,
        (
            "a run ends once, also by abort and by middleware, with the sum of usage; "
            "finished results are kept"
        ),
        (
            "test_any_abort_leaves_a_whole_run",
            "test_every_hook_may_terminate_and_its_failure_is_told",
            "test_usage_is_the_sum_over_turns",
            "test_a_run_that_is_aborted_keeps_the_usage_of_its_turns",
            "test_finished_results_are_kept_after_an_abort_and_the_others_answered",
        ),
        "decision 16: no messages in the log",
    ),
    Row(
        174,
        189,
        "compaction before a request is told, with counts and the strategy's name",
        ("test_history_is_compacted_after_the_start_and_that_is_said",),
        "decision: after RunStarted, by the loop",
    ),
    Row(
        193,
        193,
        "why a turn or a run ended",
        ("test_the_run_ends_as_the_model_did",),
    ),
    Row(
        197,
        201,
        "a whole reply ends the run; calls carry it on",
        (
            "test_the_run_ends_as_the_model_did",
            "test_calls_decide_whether_it_goes_on_and_not_the_word",
        ),
        "decision 15: calls decide, not the word",
    ),
    Row(
        203,
        207,
        "a limit of tokens or a stop sequence ends it",
        ("test_the_run_ends_as_the_model_did",),
    ),
    Row(
        209,
        216,
        "stops from outside are aborts, and nothing else is",
        (
            "test_any_abort_leaves_a_whole_run",
            "test_cancel_wins_over_timeout",
            "test_every_hook_may_terminate_and_its_failure_is_told",
        ),
        "decision 15: with a kind, and a failure is RunFailed, not an error to catch",
    ),
    Row(
        218,
        219,
        "an unknown reason ends it",
        ("test_an_unknown_reason_without_calls_ends_the_run",),
        "decision 15: unless there are calls",
    ),
    Row(
        223,
        227,
        "usage is counted by turn and summed by run; unknown is 0",
        ("test_usage_is_the_sum_over_turns", "test_what_no_turn_has_reported_is_not_known"),
        "design, section 3: unknown is None, never a silent 0",
    ),
    Row(
        231,
        249,
        "what each count means",
        ("test_each_count_has_its_meaning_and_is_summed_over_turns",),
        "docs/decisions/0006-usage.md",
    ),
)


def _known_tests() -> set[str]:
    modules = [importlib.import_module(name) for name in _MODULES]
    return {name for module in modules for name in vars(module) if name.startswith("test_")}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.first}-{row.last}")
def test_every_row_names_a_test_that_is_there(row: Row) -> None:
    assert row.says
    assert row.tests or row.decision
    assert set(row.tests) <= _known_tests()


def test_rows_stand_in_order() -> None:
    for before, after in pairwise(TABLE):
        assert before.first <= before.last < after.first


def test_no_comment_of_the_document_is_left_out() -> None:
    folder = shared("seeds")
    if folder is None:
        pytest.skip("the source documents are not here")
    (document,) = Path(folder).glob("002_*.txt")
    commented = [
        int(match[1])
        for match in re.finditer(
            r"^(\d+)[ \t]*//[/!]?[ \t]*[^\s/]", document.read_text(), re.MULTILINE
        )
    ]
    covered = {line for row in TABLE for line in range(row.first, row.last + 1)}
    assert [line for line in commented if line not in covered] == []
