"""What was found in the server by attacks, kills and load, and the tests that fail if it comes
back."""

from __future__ import annotations

from tests.findings.finding import Finding

_SERVER = "tests/server/"
_CONNECTIONS = _SERVER + "test_connections.py::"
_FILES = _SERVER + "test_storage_process.py::"
_SEARCH = _SERVER + "test_search_storage.py::"
_PAGES = _SERVER + "test_pages.py::"
_STUBBORN = _SERVER + "test_stubborn_tools.py::"
_WATCHERS = _SERVER + "test_watchers.py::"
_UPSTREAM = _SERVER + "test_threats_upstream.py::"


def _find(case: str, what: str, *tests: str) -> Finding:
    return Finding(f"server {case}", what, tests)


SERVER_FINDINGS: tuple[Finding, ...] = (
    _find(
        "H1",
        "endless headers of one client took all memory",
        _CONNECTIONS + "test_endless_headers_are_refused",
        _CONNECTIONS + "test_one_endless_header_is_refused_too",
        _CONNECTIONS + "test_nothing_endless_is_read_after_the_first_head_either",
    ),
    _find(
        "H2",
        "the write-ahead log grew without a limit",
        _SERVER + "test_log_storage.py::test_the_wal_stays_small_while_the_writer_never_rests",
        _SERVER + "test_log_storage.py::test_the_wal_is_emptied_when_nothing_is_written",
        _SERVER + "test_disk_writes.py::test_a_single_stream_writes_at_most_3_kb_per_event",
    ),
    _find(
        "H3",
        "idle connections ended every live run",
        _CONNECTIONS + "test_a_client_that_says_nothing_more_is_let_go",
        _CONNECTIONS + "test_idle_connections_keep_nobody_out",
        _CONNECTIONS + "test_one_address_cannot_keep_many_connections_waiting",
        _CONNECTIONS + "test_descriptors_are_left_for_the_database",
        _CONNECTIONS + "test_a_flood_of_log_lines_is_cut_and_counted",
    ),
    _find(
        "H4",
        "the search of one user kept everybody waiting",
        _SEARCH + "test_a_search_with_very_many_words_is_refused",
        _SEARCH + "test_nothing_waits_behind_searches_and_searches_end",
        _SEARCH + "test_a_user_who_searches_too_often_is_told_when_to_come_back",
    ),
    _find(
        "M1",
        "one message to the rehearsal model blocked the server",
        "tests/rehearsal/test_reading_growth.py::test_a_long_message_is_read_in_linear_time",
        "tests/property/test_pattern_growth.py::test_twice_the_text_takes_about_twice_the_time",
    ),
    _find(
        "M2",
        "with a read-only root file system nothing could be asked",
        _FILES + "test_only_the_data_folder_has_to_be_writable",
    ),
    _find(
        "M3",
        "clients that read no JSON kept whole conversations in memory",
        _PAGES + "test_the_newest_page_comes_first_and_the_others_follow",
        _PAGES + "test_responses_that_are_not_read_take_little_memory",
        _PAGES + "test_a_client_that_does_not_read_a_json_response_is_disconnected",
    ),
    _find(
        "M4",
        "a deleted conversation was left in files, which never shrank",
        _FILES + "test_nothing_of_a_deleted_conversation_is_left_in_any_file",
        _SERVER + "test_file_storage.py::"
        "test_the_file_shrinks_after_a_large_conversation_was_deleted",
    ),
    _find(
        "M5",
        "a server was ready with a full disk, and an empty or damaged file was taken as it is",
        _FILES + "test_a_full_disk_is_not_ready_and_shows_no_internals",
        _FILES + "test_a_damaged_file_is_refused_after_a_kill",
        _FILES + "test_a_file_that_is_no_database_is_refused_in_one_line",
    ),
    _find(
        "M6",
        "a writer that ran out of memory let all later writes hang",
        _SERVER + "test_writer_loss.py::test_no_write_hangs_when_memory_runs_out",
    ),
    _find(
        "M7",
        "Chinese and Japanese texts had empty titles and were found only at their start",
        _SEARCH + "test_any_part_of_a_text_is_found",
        _SEARCH + "test_a_long_question_has_a_title_that_says_something",
    ),
    _find(
        "M8",
        "tools that do not listen held up a cancel, a delete and the end of the process",
        _STUBBORN + "test_a_cancelled_run_ends_although_its_tool_goes_on",
        _STUBBORN + "test_a_conversation_can_be_deleted_while_its_tool_goes_on",
        _STUBBORN + "test_a_server_that_stops_gives_every_watcher_a_last_frame",
        _STUBBORN + "test_a_server_ends_even_if_a_tool_blocks_its_event_loop",
    ),
    _find(
        "L1",
        "a malformed origin was an internal error",
        _CONNECTIONS + "test_a_malformed_origin_is_refused",
    ),
    _find(
        "L2",
        "with a full disk the last frames differed, and showed internals",
        _SERVER + "test_full_disk_frames.py::test_the_last_frames_are_the_same_live_and_later",
        _SERVER + "test_full_disk_frames.py::test_the_error_of_any_log_is_shown_to_nobody",
    ),
    _find(
        "L3",
        "SIGHUP ended the process without draining",
        _STUBBORN + "test_a_server_that_stops_gives_every_watcher_a_last_frame",
    ),
    _find(
        "L4",
        "folders and files that cannot be used gave tracebacks",
        _FILES + "test_what_cannot_be_a_data_folder_is_refused_in_one_line",
        _FILES + "test_the_database_of_another_program_is_refused_in_one_line",
    ),
    _find(
        "L5",
        "a stopped process or a jump of the clock was taken for time that had passed",
        _SERVER + "test_stopped_process.py::"
        "test_bytes_that_came_while_the_process_was_stopped_are_read",
        "tests/conformance/test_store.py::test_a_clock_that_is_set_back_does_not_change_the_order",
        _SERVER + "test_clock.py::"
        "test_nothing_expires_because_the_clock_is_a_month_ahead_at_the_start",
    ),
    _find(
        "L6",
        "without its folder or lock file a server went on as if nothing was wrong",
        _FILES + "test_a_removed_folder_is_no_success",
        _FILES + "test_a_removed_lock_file_lets_no_second_server_in",
    ),
    _find(
        "L7",
        "private answers could be cached, and unusual requests got no or a wrong answer",
        _CONNECTIONS + "test_private_answers_are_not_cached_and_the_head_of_a_stream_ends",
        _CONNECTIONS + "test_two_host_headers_are_refused",
        _WATCHERS + "test_a_client_that_ends_its_side_still_gets_its_stream",
        _SERVER + "test_export.py::test_a_message_cannot_forge_a_heading",
    ),
    _find(
        "L8",
        "brackets in reasoning stopped everyone, and errors named the provider's address",
        "tests/unit/status/test_marker_growth.py::test_more_text_is_not_more_work",
        _SERVER + "test_provider_address.py::test_the_address_is_in_the_log_alone",
        _UPSTREAM + "test_t18_an_upstream_without_an_end_is_ended_by_a_limit_that_is_named",
    ),
    _find(
        "L9",
        "others on the machine could read the database",
        _FILES + "test_files_and_folder_are_for_their_owner_only",
    ),
    _find(
        "L10",
        "a revoked token kept its streams, and neither watchers nor metrics were limited",
        _WATCHERS + "test_revoking_a_token_ends_its_streams",
        _WATCHERS + "test_the_streams_of_a_user_are_limited",
        _WATCHERS + "test_the_streams_of_an_answer_are_limited",
        _WATCHERS + "test_only_a_token_for_metrics_reads_them",
        _CONNECTIONS + "test_the_name_of_an_access_token_is_one_line",
    ),
    _find(
        "L11",
        "a key that a provider sent back was shown and stored",
        _SERVER + "test_threats_secrets.py::test_t14_a_key_that_the_provider_sends_back_is_masked",
        "tests/property/test_key_mask.py::"
        "test_no_slicing_shows_a_key_and_every_slicing_gives_the_same_length",
    ),
    _find(
        "L12",
        "watchers that never read held much memory for long",
        _SERVER + "test_never_reading.py::"
        "test_t19_watchers_that_never_read_take_little_and_are_disconnected",
    ),
    _find(
        "L13",
        "a process without memory was killed",
        _SERVER + "test_small_memory.py::test_without_memory_nothing_that_was_stored_is_damaged",
    ),
)
"""All findings of the server."""
