"""Seed 002: from every comment of the source document to the test that shows what it says, or to
the decision of the design that changes it. Lines are those of the document."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.shared import shared

_PROMISES = "tests.engine.test_promises"
_ABORTS = "tests.engine.test_abort_everywhere"
_COMPACTION = "tests.engine.test_compaction"

# (first line, last line, what it says in our words, tests that show it, decision that changes it)
TABLE: tuple[tuple[int, int, str, tuple[str, ...], str], ...] = (
    (1, 2, "one vocabulary of events, reasons and usage", ("test_lifecycle_events_stand_around_the_provider_stream",), ""),
    (8, 16, "provider events come turn by turn, starts and ends nest, a call ends before the next begins", ("test_calls_nest_also_when_the_provider_interleaves_them",), ""),
    (17, 19, "the engine puts run, step and tool events around them", ("test_lifecycle_events_stand_around_the_provider_stream",), ""),
    (21, 25, "every event reaches every middleware; what it rewrites is what is kept", ("test_a_turn_finishes_for_everyone", "test_what_is_rewritten_is_what_is_logged_shown_and_kept"), ""),
    (29, 32, "text deltas join in order; empty ones are legal", ("test_deltas_join_to_the_text",), "decision 6: empty deltas open nothing, and are no events"),
    (35, 44, "a call starts with its name and id, which the result mirrors", ("test_a_call_keeps_its_id_from_start_to_result",), ""),
    (46, 54, "argument deltas join to the arguments", ("test_argument_deltas_join_to_what_was_written",), ""),
    (57, 67, "a whole call is ready to run: the tool runs after it, its result follows", ("test_a_tool_runs_after_its_call_is_whole_and_before_the_next_turn", "test_malformed_arguments_never_run"), ""),
    (70, 77, "reasoning deltas join, and are replayed word for word where tools are involved", ("test_signed_reasoning_goes_back_word_for_word_when_tools_are_involved",), ""),
    (80, 88, "reasoning ends with its signature, which is kept beside the text and replayed", ("test_signed_reasoning_goes_back_word_for_word_when_tools_are_involved", "test_reasoning_without_an_end_is_kept"), ""),
    (91, 96, "redacted reasoning comes whole, is opaque, and is replayed", ("test_redacted_reasoning_is_one_block_and_goes_back",), ""),
    (99, 110, "a turn ends with reason, usage and service tier; a run may have several", ("test_a_turn_finishes_for_everyone", "test_usage_is_the_sum_over_turns"), ""),
    (114, 118, "a run starts once, before the first request", ("test_run_started_comes_once_and_before_the_first_request", "test_run_started_comes_also_when_a_hook_stops_the_run_at_once"), ""),
    (121, 129, "a step is one turn and its calls, counted from 0, bounded", ("test_steps_are_counted_from_0", "test_max_iterations_is_an_abort"), ""),
    (132, 143, "a step ends with the messages so far", ("test_messages_can_be_asked_for_at_any_moment",), "decision 16: no messages in the log; run.messages has them at any moment"),
    (146, 157, "a result comes after its call and before the next turn, and stays an error", ("test_a_tool_runs_after_its_call_is_whole_and_before_the_next_turn", "test_an_error_result_stays_one_in_the_next_turn"), ""),
    (160, 171, "a run ends once, also by abort and by middleware, with the sum of usage; finished results are kept", ("test_any_abort_leaves_a_whole_run", "test_every_hook_may_terminate_and_its_failure_is_told", "test_usage_is_the_sum_over_turns", "test_finished_results_are_kept_after_an_abort_and_the_others_answered"), "decision 16: no messages in the log"),
    (174, 189, "compaction before a request is told, with counts and the strategy's name", ("test_compaction_is_told_after_the_run_has_started",), "decision: after RunStarted, by the loop"),
    (193, 193, "why a turn or a run ended", ("test_the_run_ends_as_the_model_did",), ""),
    (197, 201, "a whole reply ends the run; calls carry it on", ("test_the_run_ends_as_the_model_did", "test_calls_decide_whether_it_goes_on_and_not_the_word"), "decision 15: calls decide, not the word"),
    (203, 207, "a limit of tokens or a stop sequence ends it", ("test_the_run_ends_as_the_model_did",), ""),
    (209, 216, "stops from outside are aborts, and nothing else is", ("test_any_abort_leaves_a_whole_run", "test_cancel_wins_over_timeout", "test_every_hook_may_terminate_and_its_failure_is_told"), "decision 15: with a kind, and a failure is RunFailed, not an error to catch"),
    (218, 219, "an unknown reason ends it", ("test_an_unknown_reason_without_calls_ends_the_run",), "decision 15: unless there are calls"),
    (223, 227, "usage is counted by turn and summed by run; unknown is 0", ("test_usage_is_the_sum_over_turns",), "design, section 3: unknown is None, never a silent 0"),
    (231, 249, "what each count means", ("test_usage_is_the_sum_over_turns",), "docs/decisions/0006-usage.md"),
)  # fmt: skip


def _known_tests() -> set[str]:
    modules = [importlib.import_module(name) for name in (_PROMISES, _ABORTS, _COMPACTION)]
    return {name for module in modules for name in vars(module) if name.startswith("test_")}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}")
def test_every_row_names_a_test_that_is_there(
    row: tuple[int, int, str, tuple[str, ...], str],
) -> None:
    _, _, says, tests, decision = row
    assert says
    assert tests or decision
    assert set(tests) <= _known_tests()


def test_rows_stand_in_order() -> None:
    for before, after in zip(TABLE, TABLE[1:], strict=False):
        assert before[0] <= before[1] < after[0]


def test_no_comment_of_the_document_is_left_out() -> None:
    folder = shared("seeds")
    if folder is None:
        pytest.skip("the source documents are not here")
    (document,) = Path(folder).glob("002_*.txt")
    commented = [
        int(match[1])
        for match in re.finditer(r"^(\d+)[ \t]*//[/!]?[ \t]*\S", document.read_text(), re.MULTILINE)
    ]
    covered = {line for first, last, *_ in TABLE for line in range(first, last + 1)}
    assert [line for line in commented if line not in covered] == []
