"""`InputRequests`: what a run needs from people and other programs, and their answers."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.errors import HeadraceError, UsageError
from headrace.events import InputAnswered, InputDecision, Record
from headrace.messages import Assembler, InputRequest
from headrace.typed.output_type import Mismatch, OutputType

_CALL_ENDED = "the call has ended without an answer"


class AlreadyAnswered(HeadraceError):
    """The request has been answered before; `answer` is the one that counts."""

    def __init__(self, answer: InputAnswered) -> None:
        by = f" by {answer.by}" if answer.by else ""
        super().__init__(f"the request {answer.request_id} was already {answer.decision}{by}")
        self.answer = answer


class InputRequests:
    """The requests of a run and of the runs nested in it, as its message has them. The first answer
    to a request counts, even before it is in the log."""

    __slots__ = ("_answers", "_assembler", "_waiters", "is_closed")

    def __init__(self, assembler: Assembler, records: Iterable[Record] = ()) -> None:
        """`records` are those of the run before it was resumed."""
        self._assembler = assembler
        events = (record.event for record in records)
        self._answers: dict[str, InputAnswered] = {
            event.request_id: event for event in events if isinstance(event, InputAnswered)
        }
        self._waiters: dict[str, asyncio.Future[InputAnswered]] = {}
        self.is_closed = False
        """Whether answers are no longer taken, because the run has stopped."""

    @property
    def open(self) -> list[InputRequest]:
        """The requests that nobody has answered yet, in the order in which they were asked."""
        requests = (
            request
            for request in self._assembler.open_requests()
            if request.request_id not in self._answers
        )
        return sorted(requests, key=lambda request: request.asked_ms)

    def find(self, request_id: str) -> InputRequest | None:
        """Return a request that has been asked, or None."""
        for _, request in self._assembler.requests():
            if request.request_id == request_id:
                return request
        return None

    def find_answer(self, request_id: str) -> InputAnswered | None:
        """Return the answer to a request that is in the log, or None."""
        request = self.find(request_id)
        return None if request is None or request.decision is None else _to_answer(request)

    def find_state(self, path: tuple[str, ...], call_id: str) -> Any:
        """Return the state with which the tool of a call can go on, or None.

        There is one only while the last question with a state has no answer in the log: after that,
        the tool may have gone on already.
        """
        assembler = self._assembler.find(path)
        if assembler is None or not assembler.turns:
            return None
        requests = assembler.turns[-1].requests.values()
        states = [r.state for r in requests if r.call_id == call_id and r.decision is None]
        return next((state for state in reversed(states) if state is not None), None)

    def is_always_allowed(
        self, path: tuple[str, ...], name: str, server: str | None = None
    ) -> bool:
        """Return whether calls of the tool need no approval any more in this run. `server` is the
        label of the MCP server of a tool that the provider runs."""
        assembler = self._assembler.find(path)
        return assembler is not None and any(
            request.is_always
            and (request.name, request.server) == (name, server)
            and request.decision == "accepted"
            for turn in assembler.turns
            for request in turn.requests.values()
        )

    def answer(
        self,
        request_id: str,
        decision: InputDecision = "accepted",
        value: Any = None,
        *,
        is_always: bool = False,
        reason: str | None = None,
        by: str | None = None,
        entry_id: str | None = None,
    ) -> InputAnswered:
        """Answer an open request. Raises `AlreadyAnswered` if somebody has done so before, and
        `UsageError` for a request that does not exist or a value that does not fit it."""
        # First: the turn of the request, and even the run, may be over when a late answer comes.
        earlier = self._answers.get(request_id) or self.find_answer(request_id)
        if earlier is not None:
            raise AlreadyAnswered(earlier)
        if self.is_closed:
            raise UsageError("the run has stopped: resume it, then answer")
        request = next((r for r in self.open if r.request_id == request_id), None)
        if request is None:
            known = ", ".join(r.request_id for r in self.open) or "none"
            raise UsageError(f"there is no request {request_id!r}; open are: {known}")
        if decision == "accepted":
            check_value(request, value)
        answer = InputAnswered(
            request_id=request_id,
            decision=decision,
            value=value,
            is_always=is_always and request.kind == "approval",
            reason=reason,
            by=by,
            entry_id=entry_id,
        )
        self._answers[request_id] = answer
        waiter = self._waiters.get(request_id)
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)
        return answer

    def close_call(self, path: tuple[str, ...], call_id: str) -> list[InputAnswered]:
        """Return the answers that the requests of a call lack, because the call has ended without
        them: its tool may be gone, or may have stopped waiting. A request that nobody has answered
        has expired."""
        assembler = self._assembler.find(path)
        if assembler is None or not assembler.turns:
            return []
        answers: list[InputAnswered] = []
        for request in assembler.turns[-1].requests.values():
            if request.call_id == call_id and request.decision is None:
                expired = InputAnswered(
                    request_id=request.request_id, decision="expired", reason=_CALL_ENDED
                )
                answers.append(self._answers.setdefault(request.request_id, expired))
        return answers

    def wait(self, request_id: str) -> asyncio.Future[InputAnswered]:
        """Return a future for the answer to a request."""
        waiter = self._waiters.get(request_id)
        if waiter is None:
            waiter = self._waiters[request_id] = asyncio.get_running_loop().create_future()
        answer = self._answers.get(request_id)
        if answer is not None and not waiter.done():
            waiter.set_result(answer)
        return waiter


def _to_answer(request: InputRequest) -> InputAnswered:
    return InputAnswered(
        request_id=request.request_id,
        decision=request.decision or "denied",
        value=request.value,
        is_always=request.is_always,
        reason=request.reason,
        by=request.by,
    )


def check_value(request: InputRequest, value: Any) -> None:
    """Raise `UsageError` if the value does not fit what the request asks for."""
    if request.kind == "approval":
        if request.server is not None and value is not None:
            raise UsageError(
                f"the arguments of {request.name} cannot be changed: the provider runs it on the"
                f" MCP server {request.server!r}, and takes a yes or a no"
            )
        if value is not None and not isinstance(value, dict):
            raise UsageError(
                f"an approval may replace the arguments by a JSON object; got {value!r:.200}"
            )
    elif request.kind == "text" and not isinstance(value, str):
        raise UsageError(f"the request asks for a text; got {value!r:.200}")
    elif request.schema is not None:
        try:
            OutputType(request.schema).convert(value)
        except Mismatch as mismatch:
            raise UsageError(f"the value does not fit the form: {mismatch}") from None


def create_request_id(
    run_id: str, path: tuple[str, ...], steps: tuple[int, ...], call_id: str, question: Any
) -> str:
    """Return the id of a request. It is the same for the same call with the same question, and
    differs for any other: an answer cannot be used for another call or other arguments. `steps`
    are those of the runs on the path and of the call, because call ids may come again."""
    identity = msgspec.json.encode([run_id, path, steps, call_id, question], order="sorted")
    return f"req_{hashlib.sha256(identity).hexdigest()[:24]}"
