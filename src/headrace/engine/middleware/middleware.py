"""The seam of middleware: hooks around a run, and what they may answer."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Any, TypeAlias, TypeVar

import msgspec

from headrace.encoders import Request
from headrace.errors import UsageError
from headrace.events import Event, Record, RunFailed, RunFinished
from headrace.messages import Message, Turn
from headrace.tools.result import ToolReturn

T = TypeVar("T")
Answer: TypeAlias = Awaitable[T] | T


class ToolCall(msgspec.Struct, frozen=True):
    """A call that is about to run."""

    call_id: str
    name: str
    args: Any


class Allow(msgspec.Struct, frozen=True):
    """The call may run, with these arguments."""

    args: Any


class Deny(msgspec.Struct, frozen=True):
    """The call does not run; the model gets this instead: a reason, which is an error to it,
    or a result of your own."""

    reason: str | ToolReturn


Decision: TypeAlias = Allow | Deny | None


class RunView:
    """What a hook may know of its run, and do to it."""

    def __init__(self, run_id: str, model: str) -> None:
        self.run_id = run_id
        self.model = model
        self.step = 0
        self.message: Message = Message(role="assistant")
        """The answer as far as the last finished turn."""
        self.state: dict[str, Any] = {}
        """For middleware: what it wants to remember of this run."""


class Middleware:
    """Override what you need; every hook may be plain or async, and may raise `Terminate`.

    Hooks are called in the order in which the middleware is given. Any other exception ends
    the run as failed, and says whose it was.
    """

    def on_run_start(self, run: RunView) -> Answer[None]:
        """`RunStarted` has been written."""

    def on_request(self, run: RunView, request: Request) -> Answer[Request | None]:
        """A turn is about to be asked for. Return another request to ask for that."""

    def on_event(self, run: RunView, record: Record) -> Answer[None]:
        """Every record of the run, in order, as it is logged and shown."""

    def rewrite_event(self, run: RunView, event: Event) -> Answer[Event | Iterable[Event] | None]:
        """Return the event, another, several, or None for nothing. What comes out of it is
        what is logged, shown, kept and run; it is made legal where it is not."""
        return event

    def before_tool(self, run: RunView, call: ToolCall) -> Answer[Decision]:
        """A call is about to run: `Allow` with other arguments, `Deny`, or None."""

    def after_tool(
        self, run: RunView, call: ToolCall, result: ToolReturn
    ) -> Answer[ToolReturn | None]:
        """A call has run. Return another result to give that to the model."""

    def on_turn_end(self, run: RunView, turn: Turn) -> Answer[str | None]:
        """The model has ended its turn without calls. Return a text to go on: the model
        gets it as a message of the user, and it is kept with the turn."""

    def on_run_end(self, run: RunView, event: RunFinished | RunFailed) -> Answer[None]:
        """The run ends so; on every path there is. The record follows."""


_HOOKS = frozenset(name for name in vars(Middleware) if not name.startswith("_"))
_PREFIXES = ("on_", "before_", "after_", "rewrite_")


def checked(middleware: Iterable[Any]) -> tuple[Middleware, ...]:
    """The middleware of an agent. Raises `UsageError` for what is none, and for a hook whose
    name is none: it would never be called."""
    made = tuple(middleware)
    for one in made:
        if not isinstance(one, Middleware):
            hint = "give an instance, not the class" if isinstance(one, type) else "derive from it"
            raise UsageError(f"{one!r} is no Middleware: {hint}")
        names = [name for name in dir(one) if name.startswith(_PREFIXES)]
        wrong = sorted(set(names) - _HOOKS)
        if wrong:
            hooks = ", ".join(sorted(_HOOKS))
            raise UsageError(f"{type(one).__name__} has no hook {wrong[0]}: there are {hooks}")
    return made
