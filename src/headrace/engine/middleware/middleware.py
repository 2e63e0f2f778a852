"""`Middleware`: the hooks around a run, and what they may return."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import msgspec

from headrace.encoders import Request
from headrace.errors import UsageError
from headrace.events import Event, Record, RunFailed, RunFinished, TraceIds
from headrace.events.stamp import create_wall_clock
from headrace.messages import Message, Turn
from headrace.tools.result import ToolReturn

T = TypeVar("T")
Answer: TypeAlias = Awaitable[T] | T


class ToolCall(msgspec.Struct, frozen=True):
    """A call that is about to run, or has run."""

    call_id: str
    """Id of the call, which its result refers to."""
    name: str
    """Name of the tool."""
    args: Any
    """The parsed arguments."""


class Allow(msgspec.Struct, frozen=True):
    """Let the call run with these arguments."""

    args: Any
    """Arguments that replace those of the model, or None to keep them."""


class Deny(msgspec.Struct, frozen=True):
    """Do not run the call. The model gets the reason as an error, or your own result."""

    reason: str | ToolReturn
    """Error message that the model gets."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Ask a person whether the call may run. The run waits for the answer."""

    message: str = ""
    """What the person is told beside the call."""
    expires_in_s: float | None = None
    """Seconds until the request expires; None takes `RunLimits.input_timeout_s`."""


Decision: TypeAlias = Allow | Deny | Ask | None


class RunView:
    """The run as a hook sees it."""

    def __init__(
        self,
        run_id: str,
        model: str,
        path: tuple[str, ...] = (),
        user: str | None = None,
        outer_steps: tuple[int, ...] = (),
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.run_id = run_id
        self.model = model
        self.path = path
        """Call ids that lead to this run, if it is nested in another."""
        self.outer_steps = outer_steps
        """Steps of the runs around this one to which the calls of `path` belong. A call id may come
        again in a later step."""
        self.user = user
        """The user for whom the run was started, if that is known."""
        self.is_replay = False
        """Whether `on_event` gets a record of an earlier process, before the run goes on."""
        self.clock: Callable[[], float] = clock or create_wall_clock()
        """Returns the milliseconds since the epoch that records are stamped with."""
        self.server: tuple[str, int | None] | None = None
        """Host and port of the provider that is asked now, if they are known."""
        self.step = 0
        self.message: Message = Message(role="assistant")
        """The answer up to the last finished turn."""
        self.state: dict[str, Any] = {}
        """Storage for middleware, for the length of this run."""


class Middleware:
    """Base class: override the hooks you need. Each may be a plain or an async method.

    Hooks are called in the order in which the middleware is given. A hook may raise `Terminate`
    to end the run; any other exception ends the run as failed, with the name of the hook.

    A run may be resumed by another process from its records. Its middleware then gets all earlier
    records through `on_event`, with `run.is_replay` set, and can rebuild its state from them. Set
    `is_resumable` to False for middleware that cannot: its runs are never suspended or resumed.
    """

    is_resumable = True
    is_passive = False
    """Whether `on_event` is a plain method that never raises. Runs on a server are faster if that
    is true of all middleware with this hook."""
    skips_repeated_deltas = False
    """Whether `on_event` need not get a delta that follows one of the same kind in the same
    millisecond. Runs are faster if that is true of all middleware with this hook, and all of it is
    passive. It may get such deltas nevertheless."""

    def start_trace(self, run: RunView) -> Answer[TraceIds | None]:
        """Called before `RunStarted` or `RunResumed` is written. Return the ids of the span that
        stands for the run from here on; they are written to that record. Not called for runs that
        are nested in another."""

    def on_run_start(self, run: RunView) -> Answer[None]:
        """Called after `RunStarted` has been written. Not called again if the run is resumed."""

    def on_run_resume(self, run: RunView) -> Answer[None]:
        """Called each time the run is resumed, after the earlier records and `RunResumed`."""

    def on_request(self, run: RunView, request: Request) -> Answer[Request | None]:
        """Called before each turn. Return another request to send that instead."""

    def around_turn(self, run: RunView, request: Request) -> AbstractContextManager[None] | None:
        """Called before each request to a provider. Return a context manager to be entered while
        the request is sent, until the first bytes of the answer. Also called for the turns of
        sub-agents."""

    def around_tool(self, run: RunView, call: ToolCall) -> AbstractContextManager[None] | None:
        """Called after `ToolStarted` has been written. Return a context manager to be entered while
        the tool runs. Also called for the tools of sub-agents."""

    def on_event(self, run: RunView, record: Record) -> Answer[None]:
        """Called for every record, in order, after it has been logged and shown."""

    def rewrite_event(self, run: RunView, event: Event) -> Answer[Event | Iterable[Event] | None]:
        """Called for every event. Return it, another one, several, or None to drop it. The
        result is what is logged, shown, kept and run; it is made legal if it is not."""
        return event

    def before_tool(self, run: RunView, call: ToolCall) -> Answer[Decision]:
        """Called before a call runs. Return `Allow` with other arguments, `Deny`, `Ask` to ask a
        person, or None. Called again for a call that had not ended when its run was resumed.

        Also called if the provider asks whether it may run a call: a person is asked then unless
        the call is denied, and other arguments deny it."""

    def after_tool(
        self, run: RunView, call: ToolCall, result: ToolReturn
    ) -> Answer[ToolReturn | None]:
        """Called after a call has run. Return another result to replace it."""

    def on_turn_end(self, run: RunView, turn: Turn) -> Answer[str | None]:
        """Called after a turn without calls. Return a text to continue the run: the model gets
        it as a user message, and it is stored with the turn."""

    def on_run_end(self, run: RunView, event: RunFinished | RunFailed) -> Answer[None]:
        """Called at the end of every run, before the terminal record is written."""


HOOKS = frozenset(
    name for name, hook in vars(Middleware).items() if callable(hook) and not name.startswith("_")
)
_PREFIXES = ("on_", "before_", "after_", "rewrite_", "around_")


def check_middleware(middleware: Iterable[Any]) -> tuple[Middleware, ...]:
    """Return the middleware of an agent as a tuple. Raises `UsageError` for an object that is
    not middleware, and for a method that looks like a hook but would never be called."""
    entries = tuple(middleware)
    for entry in entries:
        if not isinstance(entry, Middleware):
            is_class = isinstance(entry, type)
            hint = "give an instance, not the class" if is_class else "derive its class from it"
            raise UsageError(f"{entry!r} is not a Middleware: {hint}")
        kind: Any = type(entry)
        own = [name for name in vars(entry) if name.startswith(_PREFIXES)]
        wrong = sorted({*own, *_find_hook_names(kind)} - HOOKS)
        if wrong:
            hooks = ", ".join(sorted(HOOKS))
            raise UsageError(f"{type(entry).__name__} has no hook {wrong[0]}: there are {hooks}")
    return entries


@lru_cache(maxsize=64)
def _find_hook_names(kind: type[Any]) -> frozenset[str]:
    """Return the names in a class that look like hooks. They are looked up once: to list the names
    of a class is slow, and an agent may be created for each run."""
    return frozenset(name for name in dir(kind) if name.startswith(_PREFIXES))
