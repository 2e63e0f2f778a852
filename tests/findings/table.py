"""What was found, in a few words, and the tests that fail if it comes back."""

from __future__ import annotations

from tests.findings.finding import Finding
from tests.findings.server import SERVER_FINDINGS

_CHAT = "tests/unit/wire/dialects/test_chat_variants.py::"
_API = "tests/unit/turn/test_api.py::"
_SEED_003 = "tests/browser/test_seed_003.py::"
_THINKING_TIME = "tests/unit/projections/test_thinking_time.py::"
_MUTATION = "tests/mutation/test_mutation.py::"
_FOREIGN = "tests/unit/wire/test_foreign_payloads.py::"
_SKIPPED = "tests/unit/wire/test_skipped_frames.py::"
_BODY = "tests/transport/test_success_without_stream.py::"

_CLIENT_FINDINGS: tuple[Finding, ...] = (
    # Requests and streams of providers.
    Finding(
        "history",
        "the content of an assistant message was left out of requests",
        (
            "tests/unit/messages/test_plain_messages.py::"
            "test_the_content_of_an_assistant_message_is_sent",
        ),
    ),
    Finding(
        "Responses",
        "a completed event with another status was a normal end",
        (
            _FOREIGN + "test_the_status_of_a_response_says_how_it_ended",
            _FOREIGN + "test_a_failed_response_is_an_error_under_any_name",
        ),
    ),
    Finding(
        "streams",
        "a frame that could not be read was left out without a word",
        (
            _MUTATION + "test_a_damaged_frame_of_an_authored_stream_is_made_up_for_or_said",
            _MUTATION + "test_a_damaged_frame_of_a_recorded_stream_is_made_up_for_or_said",
            "tests/unit/cli/test_ask.py::test_an_answer_with_a_gap_is_printed_with_a_warning",
            "tests/engine/test_skipped_frames.py::"
            "test_a_call_that_may_have_lost_a_frame_is_not_run",
        ),
    ),
    Finding(
        "transport",
        "a whole JSON answer was thrown away and asked for three times",
        (_BODY + "test_a_json_answer_is_the_answer",),
    ),
    Finding(
        "streams",
        "a cut stream with [DONE], and errors in many shapes, passed for success",
        (
            _MUTATION + "test_an_error_in_an_authored_stream_is_no_success",
            _MUTATION + "test_an_error_in_a_recorded_stream_is_no_success",
        ),
    ),
    Finding(
        "streams",
        "lines of JSON or HTML without a field vanished",
        (
            _MUTATION + "test_a_damaged_frame_of_any_stream_is_said",
            _CHAT + "test_lines_of_json_instead_of_events_are_read",
        ),
    ),
    Finding(
        "transport",
        "a server that closes its connection broke the next request",
        (
            "tests/transport/test_closed_connections.py::"
            "test_many_turns_on_one_transport_meet_no_error",
        ),
    ),
    Finding(
        "transport",
        "errors under HTTP 200 lost their message and were retried",
        (
            _BODY + "test_an_error_keeps_its_message_and_category",
            _BODY + "test_an_error_in_any_shape_keeps_its_message",
            _BODY + "test_a_plain_text_error_keeps_its_text",
        ),
    ),
    Finding(
        "quirks",
        "they could not be set where a model is asked",
        (
            _API + "test_quirks_are_for_a_server_whose_streams_differ",
            _API + "test_an_agent_takes_quirks_too",
            _API + "test_quirks_of_other_streams_are_refused",
        ),
    ),
    Finding(
        "addresses",
        "the query of a base address stood before the path",
        (
            "tests/unit/providers/test_endpoint.py::"
            "test_the_query_of_an_address_stays_behind_the_path",
        ),
    ),
    Finding(
        "requests", "an empty prompt was sent", (_API + "test_an_empty_prompt_is_refused_by_name",)
    ),
    Finding(
        "requests",
        "the address of a PDF was sent as its data",
        (
            "tests/unit/encoders/test_chat.py::"
            "test_the_address_of_a_file_is_refused_where_only_data_is_taken",
        ),
    ),
    Finding(
        "requests",
        "Claude was asked to think beside a temperature or a forced tool",
        (
            "tests/unit/encoders/test_anthropic.py::"
            "test_what_claude_refuses_while_it_thinks_is_refused_by_name",
        ),
    ),
    Finding(
        "chat streams",
        "unknown fields of deltas were dropped",
        (
            _CHAT + "test_unknown_fields_of_deltas_are_kept",
            _CHAT + "test_what_is_kept_of_deltas_is_bounded_and_says_so",
        ),
    ),
    Finding(
        "chat streams",
        "content and reasoning of other types were dropped",
        (
            _CHAT + "test_content_may_be_an_object",
            _CHAT + "test_reasoning_details_may_be_an_object",
            _CHAT + "test_reasoning_may_be_in_thinking_blocks_alone",
        ),
    ),
    Finding(
        "chat streams",
        "a tool name in two pieces became two calls",
        (
            _CHAT + "test_a_name_in_pieces_is_one_call",
            _CHAT + "test_a_call_that_has_started_under_half_a_name_is_never_run",
        ),
    ),
    Finding(
        "chat streams",
        "a chunk with NaN was skipped",
        (_CHAT + "test_a_chunk_with_a_number_that_json_does_not_have_is_read",),
    ),
    Finding(
        "errors",
        "LiteLLM's context error was an invalid request",
        (_CHAT + "test_the_errors_of_litellm_have_their_category",),
    ),
    Finding(
        "Gemini",
        "an empty first frame lost model and id",
        (_FOREIGN + "test_an_empty_chunk_before_the_first_one_loses_nothing",),
    ),
    Finding(
        "transport", "a header over 8 kB failed", (_BODY + "test_a_large_header_is_no_problem",)
    ),
    Finding(
        "usage",
        "reports of Anthropic with compaction were mixed",
        (_FOREIGN + "test_a_later_count_replaces_the_whole_input",),
    ),
    # The engine.
    Finding(
        "middleware",
        "no test held the order",
        (
            "tests/engine/test_middleware_order.py::"
            "test_every_hook_is_called_in_the_order_of_the_list",
        ),
    ),
    Finding(
        "usage",
        "no test held the usage of an aborted run",
        ("tests/engine/test_usage.py::test_a_run_that_is_aborted_keeps_the_usage_of_its_turns",),
    ),
    Finding(
        "requests",
        "no test held the next request word for word",
        (
            "tests/engine/test_next_request.py::test_reply_and_result_go_back_word_for_word",
            "tests/engine/test_next_request.py::"
            "test_reply_and_result_go_back_word_for_word_over_grpc",
        ),
    ),
    Finding(
        "usage",
        "the meaning of each count was mapped to a test that did not show it",
        ("tests/engine/test_usage.py::test_each_count_has_its_meaning_and_is_summed_over_turns",),
    ),
    Finding(
        "usage",
        "there was none over sub-agents",
        ("tests/engine/nested/test_sub_agents.py::test_usage_comes_up",),
    ),
    # Phases, thinking and status.
    Finding(
        "xAI",
        "creation time and debug output were not kept",
        ("tests/unit/wire/dialects/test_xai.py::test_what_has_no_place_is_kept_beside_the_turn",),
    ),
    Finding(
        "log probabilities",
        "they could not be asked for or kept",
        (
            "tests/unit/turn/test_api.py::test_logprobs_are_asked_for_and_kept",
            "tests/unit/turn/test_api.py::test_an_agent_keeps_logprobs_too",
        ),
    ),
    Finding(
        "phases",
        "statistics with reasoning deltas alone had no status",
        ("tests/unit/phases/test_output_stats.py::test_every_combination_has_its_status",),
    ),
    Finding(
        "decoder",
        "the finish was None until the end",
        (_SKIPPED + "test_the_finish_reason_is_known_as_soon_as_it_was_read",),
    ),
    Finding(
        "thinking time",
        "hidden and late reasoning had no duration",
        (
            _THINKING_TIME + "test_a_responses_item_thinks_from_when_it_is_added",
            _THINKING_TIME + "test_a_signature_only_block_thinks_from_its_start",
        ),
    ),
    Finding(
        "thinking",
        "a cancel was told as an error",
        ("tests/engine/test_cancelled_frames.py::test_a_cancel_is_an_error_in_no_frame",),
    ),
    Finding(
        "thinking",
        "phases were joined with nothing between them",
        (
            "tests/unit/projections/test_thinking.py::"
            "test_the_summaries_of_an_item_are_paragraphs_of_the_whole_thinking",
        ),
    ),
    Finding(
        "status",
        "sentences that announce a step were refused",
        (
            "tests/phases/test_excerpts.py::test_sentences_of_the_documents_own_patterns_are_found",
            "tests/phases/test_excerpts.py::test_fresh_excerpts_are_read_as_well",
        ),
    ),
    Finding(
        "status",
        "a marker soon after a title was dropped for good",
        (
            "tests/unit/status/test_reader.py::"
            "test_a_marker_that_meets_the_cooldown_is_shown_when_it_ends",
        ),
    ),
    Finding(
        "status",
        "there were no functions for a text and for a marker",
        (
            "tests/unit/status/test_extraction.py::test_the_last_marker_of_a_text",
            "tests/unit/status/test_extraction.py::test_both_are_public",
        ),
    ),
    Finding(
        "status",
        "a phrase family could be removed without a failing test",
        ("tests/phases/test_excerpts.py::test_every_family_of_patterns_is_needed",),
    ),
    # Server and web UI.
    Finding(
        "provider tools",
        "nothing could cause the frames of tools that a provider runs",
        (_SEED_003 + "test_built_in_tools_stream_in_the_overlay_and_stay_inline",),
    ),
    Finding(
        "ux",
        "the server never sent final texts",
        ("tests/server/test_final_text.py::test_final_text_is_sent_live_and_resumed_if_it_is_set",),
    ),
    Finding(
        "ux",
        "the preview of arguments was empty",
        ("tests/seeds/test_003_ux.py::test_args_preview_is_one_short_line_of_the_arguments",),
    ),
    Finding(
        "web UI",
        "it ignored sequence numbers",
        (_SEED_003 + "test_edge_sequence_numbers_and_not_the_arrival_of_frames_order_the_overlay",),
    ),
    Finding(
        "web UI",
        "reasoning without words was a toggle over nothing",
        (_SEED_003 + "test_edge_the_time_of_hidden_reasoning_is_told",),
    ),
    Finding(
        "web UI",
        "the overlay folded at the first text",
        (
            "tests/browser/test_overlay.py::"
            "test_the_overlay_is_in_sight_while_200_lines_of_text_are_written_below_it",
        ),
    ),
    Finding(
        "web UI",
        "tool calls vanished into the toggle",
        (
            "tests/browser/test_overlay.py::"
            "test_tools_stay_inline_in_order_above_the_text_and_only_reasoning_is_closed",
        ),
    ),
    Finding(
        "ux",
        "an approval that nobody gave was shown as done",
        (
            "tests/seeds/test_003_ux.py::"
            "test_an_approval_that_nobody_gives_is_requested_and_not_completed",
            _SEED_003 + "test_an_approval_of_the_provider_is_shown_as_given_only_if_it_was",
        ),
    ),
    Finding(
        "server",
        "it offered none of the options of the protocols",
        ("tests/server/test_view_options.py::test_the_options_hold_live_resumed_and_replayed",),
    ),
    Finding(
        "server",
        "phases were not logged",
        (
            "tests/server/test_view_options.py::"
            "test_phases_are_logged_with_the_request_id_and_without_content",
        ),
    ),
    Finding(
        "server",
        "a resume in another protocol lost content",
        (
            "tests/server/test_resume_across_protocols.py::test_after_any_frame_of_a_finished_run",
            "tests/server/test_resume_across_protocols.py::test_after_any_frame_of_a_live_run",
        ),
    ),
)
FINDINGS = (*_CLIENT_FINDINGS, *SERVER_FINDINGS)
"""All findings. One without tests is not corrected yet."""
