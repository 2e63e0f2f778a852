"""Asks people and other programs: whether a call may run, what its result is, or what its tool must
know."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.encoders.text_content import to_text
from headrace.engine.calls.job import Job
from headrace.engine.input.requests import AlreadyAnswered, create_request_id
from headrace.engine.limits import RunLimits
from headrace.engine.middleware.chain import Chain
from headrace.engine.middleware.middleware import Allow, Ask, Deny, RunView, ToolCall
from headrace.engine.run_broken import RunEnded
from headrace.engine.run_scope import RunScope
from headrace.events import (
    Event,
    InputAnswered,
    InputDecision,
    InputKind,
    InputRequested,
    JSONObject,
)
from headrace.messages import CallPart
from headrace.messages.provider_history import explain_not_run
from headrace.outcome import abort_reason
from headrace.tools import (
    ExternalTool,
    InputDenied,
    Tool,
    ToolReturn,
    to_tool_return,
    tool_error,
)

_DENIED = "The user did not allow this call."
_EXPIRED = "Nobody answered in time, so the call was not run."
_PROVIDER_ASKS = "The provider asks whether it may call {} on the MCP server {!r}."
_FIXED_ARGUMENTS = "The arguments of the call must be changed, which the provider does not allow."


@dataclass(frozen=True)
class _Question:
    """What is asked for a call."""

    kind: InputKind
    message: str = ""
    schema: JSONObject | None = None
    expires_in_s: float | None = None
    number: int | str = 0
    """How many questions the tool has asked before, while it ran, or the key of the question."""
    state: Any = None
    """What the tool needs to go on in another process."""
    server: str | None = None
    """Label of the MCP server, if the provider runs the call."""


class _Verdict(NamedTuple):
    """An answer for which nobody needs to be asked."""

    decision: InputDecision
    reason: str | None = None


class Questioner:
    """Asks the questions of the calls of one turn. A question that was asked before the run was
    resumed is not asked again, and an answer that is in the log is taken from there.

    `tell` writes events and waits for it; `wake` is called when a call begins or ends to wait.
    """

    def __init__(
        self,
        view: RunView,
        scope: RunScope,
        chain: Chain,
        limits: RunLimits,
        tell: Callable[[Sequence[Event]], Awaitable[None]],
        wake: Callable[[], None],
    ) -> None:
        self._view = view
        self._scope = scope
        self._chain = chain
        self._limits = limits
        self._tell = tell
        self._wake = wake

    async def approve(self, job: Job, tool: Tool) -> ToolReturn | None:
        """Ask for the approval of a call, if it needs one. Returns the result of a call that may
        not run, or None."""
        if job.ask is None and not tool.needs_approval(job.call.args):
            return None
        if self._scope.inputs.is_always_allowed(self._view.path, tool.name):
            return None
        ask = job.ask or Ask()
        question = _Question("approval", ask.message, expires_in_s=ask.expires_in_s)
        answer = await self._ask(job, question)
        if answer.decision != "accepted":
            return self._refuse(answer)
        if answer.value is None:
            return None
        # What the person has written must obey the same rules as what the model has written.
        edited = ToolCall(job.call.call_id, job.call.name, answer.value)
        decision, _ = await self._chain.before_tool(self._view, edited)
        if isinstance(decision, Deny):
            return to_denial(decision)
        job.call = ToolCall(edited.call_id, edited.name, decision.args)
        return None

    async def approve_for_provider(self, job: Job, part: CallPart) -> None:
        """Find out whether the provider may run a call, and write the answer. A person decides,
        unless middleware denies the call or the tool may always run."""
        decision, ask = await self._chain.before_tool(self._view, job.call)
        ask = ask or Ask()
        texts = (ask.message, _PROVIDER_ASKS.format(part.name, part.server))
        message = " ".join(filter(None, texts))
        question = _Question("approval", message, None, ask.expires_in_s, server=part.server)
        answer = await self._ask(job, question, verdict=self._judge(part, decision))
        if answer.decision == "expired":
            self._refuse(answer)

    def _judge(self, part: CallPart, decision: Allow | Deny) -> _Verdict | None:
        """Decide about a call of the provider without asking, or return None."""
        if part.error is not None:
            return _Verdict("denied", explain_not_run(part))
        if isinstance(decision, Deny):
            return _Verdict("denied", to_text(to_denial(decision).content))
        if decision.args != part.args:
            return _Verdict("denied", _FIXED_ARGUMENTS)
        if self._scope.inputs.is_always_allowed(self._view.path, part.name, part.server):
            return _Verdict("accepted")
        return None

    async def ask_outside(self, job: Job, tool: ExternalTool) -> ToolReturn:
        """Wait for the result of a call that this process does not run."""
        message = tool.describe(job.call.args)
        question = _Question(tool.kind, message, tool.schema, tool.expires_in_s)
        answer = await self._ask(job, question)
        if answer.decision != "accepted":
            return self._refuse(answer)
        result = to_tool_return(answer.value, None)
        return await self._chain.after_tool(self._view, job.call, result)

    async def ask_while_running(
        self,
        job: Job,
        message: str,
        schema: JSONObject | None,
        *,
        key: str | None = None,
        state: Any = None,
    ) -> Any:
        """Ask for a tool that runs. The time of the answer does not count for its timeout."""
        kind: InputKind = "text" if schema is None else "form"
        number = job.questions if key is None else key
        question = _Question(kind, message, schema, number=number, state=state)
        job.questions += 1
        loop, timer, left_s = asyncio.get_running_loop(), job.timer, None
        if timer is not None and (when := timer.when()) is not None:
            left_s = when - loop.time()
            timer.reschedule(None)
        # Only a tool that may run again, or go on with its state, can be stopped while it waits.
        is_idempotent = isinstance(job.tool, Tool) and job.tool.is_idempotent
        is_free = is_idempotent or state is not None
        try:
            answer = await self._ask(job, question, is_free=is_free)
        finally:
            if timer is not None and left_s is not None and not timer.expired():
                timer.reschedule(loop.time() + left_s)
        if answer.decision != "accepted":
            raise InputDenied(answer.reason or f"the question was {answer.decision}")
        return answer.value

    def _refuse(self, answer: InputAnswered) -> ToolReturn:
        if answer.decision == "denied":
            return tool_error(f"{_DENIED} Reason: {answer.reason}" if answer.reason else _DENIED)
        if self._limits.on_expiry == "end":
            raise RunEnded(abort_reason("timeout", "nobody answered a request for input in time"))
        return tool_error(_EXPIRED)

    async def _ask(
        self,
        job: Job,
        question: _Question,
        *,
        is_free: bool = True,
        verdict: _Verdict | None = None,
    ) -> InputAnswered:
        """Ask a question and wait for the answer. `is_free` tells that the process may stop
        meanwhile. With a verdict, the question and the answer are only written."""
        inputs, view, call = self._scope.inputs, self._view, job.call
        identity = [call.name, call.args, question.kind, question.message, question.number]
        steps = (*view.outer_steps, view.step)
        request_id = create_request_id(view.run_id, view.path, steps, call.call_id, identity)
        answer = inputs.find_answer(request_id)
        if answer is not None:
            return answer
        if inputs.find(request_id) is None:
            await self._tell([self._create_request(request_id, call, question)])
        if verdict is not None:
            answer = self._answer(request_id, *verdict)
            await self._tell([answer])
            return answer
        waiter = inputs.wait(request_id)
        # A request that has expired needs no wait: the run must not be suspended for it again.
        has_expired = self._time_left_s(request_id) == 0.0
        job.waits_for = waiter if is_free and not has_expired else None
        self._wake()
        try:
            answer = await self._wait(request_id, waiter)
        finally:
            job.waits_for = None
            self._wake()
        await self._tell([answer])
        return answer

    def _create_request(self, request_id: str, call: ToolCall, asked: _Question) -> InputRequested:
        seconds = asked.expires_in_s or self._scope.limits.input_timeout_s
        expires = None if seconds is None else int(self._scope.clock() + seconds * 1000)
        return InputRequested(
            request_id=request_id,
            kind=asked.kind,
            call_id=call.call_id,
            name=call.name,
            args=call.args,
            message=asked.message,
            schema=asked.schema,
            expires_at_ms=expires,
            server=asked.server,
            state=asked.state,
        )

    def _time_left_s(self, request_id: str) -> float | None:
        """Return how long a request is open, or None if it does not expire."""
        request = self._scope.inputs.find(request_id)
        if request is None or request.expires_at_ms is None:
            return None
        return max(0.0, (request.expires_at_ms - self._scope.clock()) / 1000)

    async def _wait(self, request_id: str, waiter: asyncio.Future[InputAnswered]) -> InputAnswered:
        seconds = self._time_left_s(request_id)
        if seconds is None:
            return await asyncio.shield(waiter)
        done, _ = await asyncio.wait([waiter], timeout=seconds)
        if done:
            return waiter.result()
        return self._answer(request_id, "expired")

    def _answer(
        self, request_id: str, decision: InputDecision, reason: str | None = None
    ) -> InputAnswered:
        """Answer a request, and return the answer that counts."""
        try:
            return self._scope.inputs.answer(request_id, decision, reason=reason)
        except AlreadyAnswered as earlier:
            return earlier.answer


def to_denial(decision: Deny) -> ToolReturn:
    """Return the result of a call that middleware has denied."""
    reason = decision.reason
    return reason if isinstance(reason, ToolReturn) else tool_error(str(reason))
