"""`Fallback`: several models, of which a later one answers if an earlier one fails."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, Unpack

import msgspec

from headrace.encoders import OptionArguments, Options, parse_options
from headrace.errors import UsageError
from headrace.log import get_logger
from headrace.outcome import ERROR_CATEGORIES, ErrorCategory
from headrace.transport.limits import Timeouts
from headrace.transport.retry import NEVER, RetryPolicy
from headrace.transport.transport import Transport
from headrace.turn.circuit_breaker import CircuitBreaker
from headrace.turn.model import Model, is_rehearsal, model_for, name_of
from headrace.wire.dialects.chat import ChatQuirks

_logger = get_logger("turn")

DEFAULT_CATEGORIES: tuple[ErrorCategory, ...] = (
    "overloaded",
    "rate_limit",
    "server",
    "timeout",
    "network",
    "incomplete",
)


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """One change from a model that failed to the next one."""

    failed: str
    """The model that failed, as `provider:model`."""
    next: str
    """The model that was asked instead."""
    category: ErrorCategory
    """Why the first one failed."""
    is_late: bool = False
    """Whether its turn had begun. What had arrived of it was taken back."""


class FallbackEntry:
    """One model of a `Fallback`, with what is different for it: its address, key, transport,
    quirks, timeout, retry policy and options. Options replace those of the request by name."""

    def __init__(
        self,
        model: str | Model,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        transport: Transport | None = None,
        quirks: ChatQuirks | None = None,
        timeout: float | Timeouts | None = None,
        policy: RetryPolicy | None = None,
        **options: Unpack[OptionArguments],
    ) -> None:
        self.model = model
        self.policy = policy
        self._endpoint: dict[str, Any] = {
            "base_url": base_url,
            "api_key": api_key,
            "transport": transport,
            "quirks": quirks,
            "timeout": timeout,
        }
        self._changed = tuple(options)
        self._options = parse_options(options)

    def __repr__(self) -> str:
        return f"FallbackEntry({self.name!r})"

    @property
    def name(self) -> str:
        """`provider:model`."""
        return name_of(self.model)

    def resolve(self, common: dict[str, Any]) -> Model:
        """Return the model. `common` are arguments of `model_for()` for entries without their
        own."""
        own = {name: value for name, value in self._endpoint.items() if value is not None}
        return model_for(self.model, **{**common, **own})

    def change_options(self, options: Options) -> Options:
        """Return the options of a request to this model."""
        changed = {name: getattr(self._options, name) for name in self._changed}
        return msgspec.structs.replace(options, **changed)


class Fallback:
    """Models in order of preference, for every place that takes a model.

    If a model fails with one of the error categories `on` before its first event, the next one is
    asked. An agent whose `RunLimits` have `retries_late` also takes back an answer that broke off,
    and asks the next model for it. Entries are model strings, or a `FallbackEntry` for a model with
    its own key, address or options.

    A model that failed `failures` times in a row is skipped for `pause_s` seconds; then one request
    tries it again. If all are skipped, the first is asked all the same. Use one object for all
    requests: it counts failures, and `switches`. Raises `UsageError` for no models and for an
    unknown category.
    """

    def __init__(
        self,
        *models: str | Model | FallbackEntry,
        on: ErrorCategory | Iterable[ErrorCategory] = DEFAULT_CATEGORIES,
        failures: int = 3,
        pause_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not models:
            raise UsageError("Fallback needs at least one model")
        if failures < 1:
            raise UsageError(f"failures must be at least 1; got {failures}")
        self.entries: tuple[FallbackEntry, ...] = tuple(
            model if isinstance(model, FallbackEntry) else FallbackEntry(model) for model in models
        )
        categories: Iterable[Any] = (on,) if isinstance(on, str) else on
        self.on: frozenset[ErrorCategory] = frozenset(categories)
        if unknown := sorted(self.on - ERROR_CATEGORIES):
            known = ", ".join(sorted(ERROR_CATEGORIES))
            raise UsageError(f"no error category {unknown[0]!r}: there are {known}")
        self._breakers = [CircuitBreaker(failures, pause_s, clock) for _ in models]
        self.switches: Counter[Switch] = Counter()
        """How often each change from one model to another happened, over all requests."""

    def __repr__(self) -> str:
        return f"Fallback({', '.join(repr(entry.name) for entry in self.entries)})"

    def __str__(self) -> str:
        return " → ".join(entry.name for entry in self.entries)

    @property
    def name(self) -> str:
        """The preferred model, as `provider:model`."""
        return self.entries[0].name

    @property
    def is_rehearsal(self) -> bool:
        """Whether one of the models is the built-in rehearsal."""
        return any(is_rehearsal(entry.model) for entry in self.entries)

    def is_skipped(self, index: int) -> bool:
        """Return whether an entry has failed too often and is skipped, or tried again."""
        return self._breakers[index].is_open

    def choose(self, tried: Sequence[int], preferred: int = 0) -> int | None:
        """Return the index of the next entry to ask: the preferred one first, then in order. None
        if all have been tried or are skipped. If none has been tried, it is never None."""
        places = [preferred, *(at for at in range(len(self.entries)) if at != preferred)]
        for at in places:
            if at not in tried and self._breakers[at].allow():
                return at
        return None if tried else preferred

    def report(self, index: int, category: ErrorCategory | None) -> None:
        """Note how a request to an entry ended; None is an answer."""
        breaker = self._breakers[index]
        if category in self.on:
            breaker.fail()
        else:
            breaker.succeed()

    def count(self, switch: Switch) -> None:
        """Count and log a change from one model to another."""
        self.switches[switch] += 1
        late = ", and part of its answer is taken back" if switch.is_late else ""
        why = f"{switch.category}{late}"
        fields = {"event": "model_switched", **msgspec.structs.asdict(switch)}
        text = "%s failed (%s): asking %s"
        _logger.warning(text, switch.failed, why, switch.next, extra=fields)


AnyModel: TypeAlias = str | Model | Fallback


class Route:
    """The way of one request through the entries of a fallback, or to a single model."""

    __slots__ = ("_fallback", "_is_reported", "_tried", "at", "switches")

    def __init__(self, fallback: Fallback | None, preferred: int = 0) -> None:
        self._fallback = fallback
        self._tried: list[int] = []
        first = None if fallback is None else fallback.choose((), preferred)
        self.at = preferred if first is None else first
        """The index of the entry that is asked."""
        self.switches: list[Switch] = []
        """What has failed so far."""
        self._is_reported = False

    def switch(self, category: ErrorCategory, *, is_late: bool = False) -> bool:
        """Note that the entry has failed. Returns whether another one is to be asked."""
        fallback = self._fallback
        if fallback is None:
            return False
        self.report(category)
        self._tried.append(self.at)
        after = fallback.choose(self._tried) if category in fallback.on else None
        if after is None:
            return False
        names = (fallback.entries[at].name for at in (self.at, after))
        switch = Switch(failed=next(names), next=next(names), category=category, is_late=is_late)
        fallback.count(switch)
        self.switches.append(switch)
        self.at, self._is_reported = after, False
        return True

    def report(self, category: ErrorCategory | None) -> None:
        """Note how the request to the entry ended, once; None is an answer."""
        if self._fallback is not None and not self._is_reported:
            self._is_reported = True
            self._fallback.report(self.at, category)

    def describe(self) -> str:
        """Return what failed before the last entry, for an error message; empty if nothing did."""
        failed = ", ".join(f"{switch.failed}: {switch.category}" for switch in self.switches)
        return f" (before that, {failed})" if failed else ""


def resolve_entries(
    model: AnyModel, policy: RetryPolicy, endpoint: dict[str, Any]
) -> list[tuple[Model, RetryPolicy, FallbackEntry | None]]:
    """Return the models to ask, in order, with their retry policies.

    In a fallback all but the last are asked once, since the next one is asked sooner than the same
    one again. Raises `UsageError` for a model that cannot be reached, which names the entry, and
    for arguments that each entry needs for itself.
    """
    if not isinstance(model, Fallback):
        return [(model_for(model, **endpoint), policy, None)]
    for name in ("base_url", "api_key", "quirks"):
        if endpoint.get(name) is not None:
            raise UsageError(f"{name} is different for each model: give it to a FallbackEntry")
    common = {name: endpoint.get(name) for name in ("transport", "timeout")}
    resolved: list[tuple[Model, RetryPolicy, FallbackEntry | None]] = []
    for place, entry in enumerate(model.entries):
        is_last = entry is model.entries[-1]
        own = entry.policy or (policy if is_last else NEVER)
        with naming_entry(model, place):
            resolved.append((entry.resolve(common), own, entry))
    return resolved


@contextmanager
def naming_entry(model: AnyModel, place: int) -> Generator[None, None, None]:
    """Let a `UsageError` of this block name the entry of a fallback that it is about."""
    try:
        yield
    except UsageError as error:
        if not isinstance(model, Fallback):
            raise
        name = model.entries[place].name
        raise UsageError(f"entry {place + 1} of the fallback, {name}: {error}") from None
