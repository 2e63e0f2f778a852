"""Values: usage adds up, reasons read well, failures keep their facts."""

from __future__ import annotations

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.outcome import END_TURN, FinishReason, abort_reason, other_reason
from headrace.usage import Usage


def test_unknown_counts_stay_unknown_when_added() -> None:
    assert Usage() + Usage() == Usage()
    assert Usage(input_tokens=2) + Usage() == Usage(input_tokens=2)
    total = Usage(input_tokens=2, cost=0.5) + Usage(input_tokens=3, output_tokens=1, cost=0.25)
    assert total == Usage(input_tokens=5, output_tokens=1, cost=0.75)


def test_a_zero_or_absent_report_never_overwrites_a_running_total() -> None:
    running = Usage(input_tokens=7, output_tokens=3)
    assert running.merge(Usage(input_tokens=0)) == running
    assert running.merge(Usage()) == running
    assert running.merge(Usage(output_tokens=9)) == Usage(input_tokens=7, output_tokens=9)


def test_a_first_zero_is_told() -> None:
    assert Usage().merge(Usage(cached_input_tokens=0)).cached_input_tokens == 0


def test_usage_is_known_once_anything_was_told() -> None:
    assert not Usage().is_known
    assert Usage(output_tokens=0).is_known


def test_reasons_read_well() -> None:
    assert str(END_TURN) == "end_turn"
    assert str(other_reason("odd")) == "other(odd)"
    assert str(other_reason("")) == "other()"
    assert str(abort_reason("cancelled", "by the caller")) == "aborted(cancelled: by the caller)"
    assert str(abort_reason("timeout")) == "aborted(timeout)"


def test_reasons_and_content_survive_json() -> None:
    for reason in (END_TURN, other_reason("x"), abort_reason("timeout", "30 s")):
        assert msgspec.json.decode(msgspec.json.encode(reason), type=FinishReason) == reason
    contents: list[Content] = [
        TextContent("a"),
        JSONContent({"a": [1, None]}),
        ImageContent(media_type="image/png", data="aGk="),
        FileContent(media_type="text/plain", name="a.txt", url="https://example.com/a"),
    ]
    assert msgspec.json.decode(msgspec.json.encode(contents), type=list[Content]) == contents
