"""Costs: computed from prices, unless the provider reports them or nobody knows them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import genai_prices
import pytest

from headrace import UsageError, price
from headrace.prices.cost import find_cost, load_prices
from headrace.prices.estimate import estimate_body_tokens, estimate_usage
from headrace.providers import CATALOG
from headrace.usage import Usage

USED = Usage(input_tokens=1_000_000, output_tokens=100_000)
SONNET = "anthropic:claude-sonnet-4-5-20250929"


def test_every_kind_of_token_has_its_own_price() -> None:
    cached = Usage(
        input_tokens=100_000,
        output_tokens=10_000,
        reasoning_tokens=4_000,
        cached_input_tokens=50_000,
        cache_creation_input_tokens=30_000,
        cache_creation_5m_tokens=10_000,
        cache_creation_1h_tokens=20_000,
        units={"web_searches": 3},
    )
    fresh, read, short, hour, out = 20_000 * 3, 50_000 * 0.3, 10_000 * 3.75, 20_000 * 6, 10_000 * 15
    per_million = fresh + read + short + hour + out
    assert price(cached, SONNET) == pytest.approx(per_million / 1e6 + 3 * 0.01)


def test_writes_without_a_lifetime_have_the_price_of_the_shorter_one() -> None:
    used = Usage(input_tokens=1000, output_tokens=0, cache_creation_input_tokens=1000)
    assert price(used, SONNET) == pytest.approx(1000 * 3.75 / 1e6)


def test_sound_has_its_own_price() -> None:
    silent = Usage(input_tokens=10_000, output_tokens=0)
    sound = Usage(input_tokens=10_000, output_tokens=0, units={"input_audio_tokens": 10_000})
    plain, heard = (price(used, "gemini:gemini-2.5-flash") for used in (silent, sound))
    assert plain is not None
    assert heard is not None
    assert heard > plain


def test_the_tier_that_answered_is_the_tier_that_is_paid() -> None:
    tiers = (None, "flex", "priority")
    default, flex, priority = (price(USED, "openai:gpt-5", service_tier=tier) for tier in tiers)
    assert default is not None
    assert flex is not None
    assert priority is not None
    assert flex < default < priority


def test_a_price_that_changes_is_that_of_the_time() -> None:
    """o3 has become cheaper in June 2025."""
    old = price(USED, "openai:o3", at=datetime(2025, 6, 1, tzinfo=UTC))
    new = price(USED, "openai:o3", at=datetime(2025, 7, 1, tzinfo=UTC))
    assert old is not None
    assert new is not None
    assert old > new


@pytest.mark.parametrize(
    "model", ["anthropic:unheard-of", "rehearsal:thoughtful", "ollama:llama3", "nowhere:gpt-5"]
)
def test_a_model_without_a_price_has_no_cost(model: str) -> None:
    assert price(USED, model) is None


def test_counts_that_are_not_known_have_no_cost() -> None:
    assert price(Usage(total_tokens=100), SONNET) is None
    assert price(Usage(), SONNET) is None


def test_parts_that_exceed_their_whole_are_cut_to_it() -> None:
    wrong = Usage(input_tokens=10, cached_input_tokens=50, output_tokens=5, reasoning_tokens=9)
    right = Usage(input_tokens=10, cached_input_tokens=10, output_tokens=5, reasoning_tokens=5)
    assert price(wrong, SONNET) == price(right, SONNET)


def test_a_server_is_priced_by_its_address_first() -> None:
    used = Usage(input_tokens=1000, output_tokens=1000)
    direct = price(used, "deepseek:deepseek-chat")
    assert direct is not None
    assert price(used, "compatible:deepseek-chat") is None
    address = "https://api.deepseek.com/v1"
    assert price(used, "compatible:deepseek-chat", base_url=address) == direct
    proxy = "http://127.0.0.1:4000"
    assert price(used, "deepseek:deepseek-chat", base_url=proxy) == direct


@pytest.mark.parametrize("name", ["openai-chat", "xai-chat", "xai-grpc", "azure", "vertex"])
def test_every_interface_of_a_provider_finds_its_prices(name: str) -> None:
    models = {"xai-chat": "grok-4", "xai-grpc": "grok-4", "vertex": "gemini-2.5-pro"}
    assert find_cost(USED, CATALOG[name], [models.get(name, "gpt-5")]) is not None


def test_a_model_needs_its_provider() -> None:
    with pytest.raises(UsageError, match="provider:model"):
        price(USED, "gpt-5")


@pytest.fixture
def without_prices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    load_prices.cache_clear()
    yield
    load_prices.cache_clear()


@pytest.mark.usefixtures("without_prices")
def test_without_the_extra_a_cost_is_an_error_only_if_it_is_asked_for() -> None:
    with pytest.raises(UsageError, match=r"headrace\[prices\]"):
        price(USED, SONNET)
    assert find_cost(USED, CATALOG["anthropic"], ["claude-sonnet-4-5"]) is None


def test_newer_prices_of_the_program_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """`UpdatePrices` replaces the snapshot that every calculation reads."""
    snapshot = genai_prices.data_snapshot.get_snapshot()
    empty = genai_prices.data_snapshot.DataSnapshot(providers=[], from_auto_update=True)
    assert price(USED, SONNET) is not None
    try:
        genai_prices.data_snapshot.set_custom_snapshot(empty)
        assert price(USED, SONNET) is None
    finally:
        genai_prices.data_snapshot.set_custom_snapshot(None)
    assert genai_prices.data_snapshot.get_snapshot() is snapshot


# --- estimates ------------------------------------------------------------------------------


def body(text: str) -> bytes:
    return b'{"m":"%s"}' % text.encode()


def test_what_was_reported_is_kept() -> None:
    reported = Usage(input_tokens=7, output_tokens=90, cached_input_tokens=3)
    assert estimate_usage(reported, lambda: body("x"), 400) is reported


def test_an_output_count_of_the_start_is_replaced() -> None:
    reported = Usage(input_tokens=35, output_tokens=1)
    usage = estimate_usage(reported, lambda: body("x"), 4000)
    assert usage == Usage(input_tokens=35, output_tokens=1000, is_estimated=True)


def test_what_was_not_reported_is_estimated() -> None:
    usage = estimate_usage(Usage(), lambda: body("word " * 80), 40)
    assert usage.is_estimated
    assert usage.output_tokens == 10
    assert usage.input_tokens == 101  # 400 characters, and the key
    assert usage.total_tokens is None


def test_media_are_not_counted_by_their_size() -> None:
    small, large = (estimate_body_tokens(body("A" * size)) for size in (5_000, 5_000_000))
    assert small == large
