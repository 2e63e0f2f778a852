"""A key that a provider sends back is never shown, however it is cut; other text is untouched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.events import TurnEvent
from headrace.outcome import FinishReason
from headrace.transport.call_secrets import keys_of
from headrace.transport.transport import HTTPCall
from headrace.turn.key_mask import KeyMask, list_events

KEY = "sk-CANARY-5d1c0ffee5d1c0ffee"
# Its end is its beginning, so that two of them may overlap.
OVERLAPPING = "abcabc12-7788-abcabc"
SECOND = "abcabc12-7788"
LONGEST_SHOWN = 7
PLAIN = st.text(alphabet='sk-CAN abc12"%é', max_size=20)


def is_shown(text: str, key: str) -> bool:
    size = LONGEST_SHOWN + 1
    return any(key[at : at + size] in text for at in range(len(key) - size + 1))


@st.composite
def sliced(draw: Any, keys: Sequence[str]) -> tuple[str, list[str]]:
    """A text with keys inside, and the same in pieces."""
    parts = draw(st.lists(PLAIN | st.sampled_from(keys), min_size=1, max_size=6))
    text = "".join(parts)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    if draw(st.booleans()):
        cuts = list(range(len(text)))
    ends = [*cuts, len(text)]
    pieces = [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return text, [piece for piece in pieces if piece]


def stream(kind: Any, pieces: Sequence[str], keys: Sequence[str]) -> tuple[list[Any], str]:
    start: Any = ev.TextStarted if kind is ev.TextDelta else ev.ReasoningStarted
    end: Any = ev.TextFinished(0) if kind is ev.TextDelta else ev.ReasoningFinished(0)
    mask = KeyMask(keys)
    made: list[Any] = mask.feed([start(part=0, output=0, item=0)])
    for piece in pieces:
        made += mask.feed([kind(0, piece)])
    made += mask.feed([end])
    assert type(made[0]) is start
    assert type(made[-1]) is type(end)
    assert all(type(event) is kind and event.text for event in made[1:-1])
    return made, "".join(event.text for event in made[1:-1])


@pytest.mark.parametrize("kind", [ev.TextDelta, ev.ReasoningDelta])
@pytest.mark.parametrize("keys", [(KEY,), (OVERLAPPING, SECOND), (KEY, OVERLAPPING)])
def test_no_slicing_shows_a_key_and_every_slicing_gives_the_same_length(
    kind: Any, keys: tuple[str, ...]
) -> None:
    @given(sliced(keys))
    def check(given: tuple[str, list[str]]) -> None:
        text, pieces = given
        _, shown = stream(kind, pieces, keys)
        assert len(shown) == len(text)
        for key in keys:
            if key in text:
                assert not is_shown("".join(shown), key)
            elif key[: max(8, len(key) // 2)] not in text and not any(k in text for k in keys):
                assert shown == text

    check()


@given(st.lists(st.text(min_size=1, max_size=30), max_size=10))
@example([KEY[:-1], "!"])
@example(["sk-", "CANARY", " and so on"])
def test_text_without_a_key_is_identical_and_complete_at_the_end_of_its_part(
    pieces: list[str],
) -> None:
    made, shown = stream(ev.TextDelta, pieces, [KEY])
    assert shown == "".join(pieces)
    if not any(piece[-1:] in KEY or KEY[:4] in piece for piece in pieces):
        # Not even the events are others.
        assert [event.text for event in made[1:-1]] == pieces


def test_text_is_held_back_only_while_it_may_become_a_key() -> None:
    mask = KeyMask([KEY])
    made: list[list[str]] = []
    for text in ("tasks", "sk", "-C", "AN", "!"):
        shown: list[Any] = mask.feed([ev.TextDelta(0, text)])
        made.append([event.text for event in shown])
    assert made == [["tasks"], ["sk"], [], [], ["-CAN!"]]


@given(sliced([json.dumps(KEY)[1:-1], KEY.replace("-", "\\u002d"), "\\u0073" + KEY[1:]]))
def test_arguments_show_no_key_whatever_escapes_they_use(given: tuple[str, list[str]]) -> None:
    _, pieces = given
    mask = KeyMask([KEY])
    made: list[Any] = mask.feed(
        [ev.ToolCallStarted(part=0, output=0, item=0, call_id="c", name="n")]
    )
    for piece in pieces:
        made += mask.feed([ev.ToolCallArgsDelta(0, piece)])
    raw = "".join(pieces)
    made += mask.feed([ev.ToolCallMalformed(part=0, call_id="c", name="n", raw=raw, error="")])
    text = "".join(event.text for event in made[1:-1]) + "|" + made[-1].raw
    assert not is_shown(text.replace("\\u002d", "-").replace("\\u0073", "s"), KEY)


EVENTS: list[TurnEvent] = [
    ev.TurnStarted(dialect="chat", model=KEY, response_id=f"id-{KEY}"),
    ev.ToolCallStarted(part=1, output=0, item=0, call_id=KEY, name=KEY, provider_data={KEY: KEY}),
    ev.ToolCallFinished(
        part=1, call_id=KEY, name="f", args={"a": [KEY]}, raw=json.dumps({"a": [KEY]})
    ),
    ev.OpaqueItem(part=2, output=0, item=1, kind=KEY, data=f'{{"x":"\\u0073{KEY[1:]}"}}'),
    ev.CitationAdded(ref=f"https://x/?k={KEY}", title=KEY, raw={"deep": [{"key": KEY}]}),
    ev.ReasoningRedacted(part=3, output=0, item=2, data=KEY),
    ev.PartSealed(3, "signature", KEY),
    ev.OutputFinished(0, FinishReason("other", detail=KEY), KEY),
    ev.TurnFinished(reason=FinishReason("other", detail=KEY), raw_reason=KEY, service_tier=KEY),
    ev.TurnFailed(category="unknown", message=KEY, code=KEY),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_field_of_every_event_is_masked(event: TurnEvent) -> None:
    (masked,) = KeyMask([KEY]).feed([event])
    assert not is_shown(msgspec.json.encode(masked).decode(), KEY)
    assert type(masked) is type(event)
    (same,) = KeyMask(["another-key-1234567890"]).feed([event])
    assert same is event


def test_a_restored_part_is_masked_and_what_is_held_back_follows() -> None:
    mask = KeyMask([KEY])
    events: list[TurnEvent] = [
        ev.TextStarted(part=0, output=0, item=0),
        ev.PartRestored(0, f"It is {KEY[:10]}"),
        ev.TextDelta(0, KEY[10:]),
        ev.TextFinished(0),
    ]
    made: list[Any] = mask.feed(events)
    text = "".join(event.text for event in made[1:-1])
    assert text == "It is " + "*" * len(KEY)


def test_the_end_of_the_turn_gives_what_was_held_back() -> None:
    mask = KeyMask([KEY])
    failed = ev.TurnFailed(category="network", message="cut")
    started = ev.TextStarted(part=0, output=0, item=0)
    made: list[Any] = mask.feed([started, ev.TextDelta(0, "A sk-CA"), failed])
    assert "".join(event.text for event in made[1:-1]) == "A sk-CA"
    assert made[-1] is failed


@pytest.mark.parametrize(
    ("url", "headers", "keys"),
    [
        ("https://x/v1", {"Authorization": f"Bearer {KEY}"}, [KEY]),
        ("https://x/v1", {"x-api-key": KEY, "x-title": "My long application 2"}, [KEY]),
        (f"https://me:{KEY}@x/v1?key={KEY}&alt=sse", {}, [KEY]),
        ("https://x/v1", {"Authorization": "Bearer not-needed"}, []),
        ("https://x/v1", {"OpenAI-Organization": "org-of-the-company-12"}, []),
    ],
)
def test_the_keys_of_a_call(url: str, headers: dict[str, str], keys: list[str]) -> None:
    assert keys_of(HTTPCall(url=url, headers=headers, body=b"")) == keys


@given(sliced([KEY, KEY[:9]]), st.booleans(), st.integers(1, 2))
def test_a_delta_is_masked_alike_in_a_list_and_without(
    given: tuple[str, list[str]], is_listed: bool, keys: int
) -> None:
    _, pieces = given
    deltas = [ev.TextDelta(0, piece) for piece in pieces]
    own_keys = [KEY, "another-key-1234567890"][:keys]
    plain, wrapped = KeyMask(own_keys), KeyMask(own_keys)
    reads = iter(deltas)
    feed = wrapped.wrap(lambda _: [next(reads)] if is_listed else next(reads))
    for delta in deltas:
        assert list_events(feed(b"")) == plain.feed([delta])
