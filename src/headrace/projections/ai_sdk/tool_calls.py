"""Tool calls in the AI SDK's stream: their input, approval, progress and output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from headrace import events as ev
from headrace.events import JSONObject, SealKind
from headrace.projections.ai_sdk import frame as fr
from headrace.projections.ai_sdk.frame import AISDKFrame
from headrace.projections.ai_sdk.provider_metadata import to_metadata
from headrace.projections.call_ids import CallIds, CallPath
from headrace.projections.tool_value import tool_value

_UNKNOWN_TOOL = "provider_tool"
_ACTIVITY_ENDS = {"completed": True, "failed": False, "incomplete": False}


class _Call(msgspec.Struct, eq=False):
    """A call that was announced."""

    id: str
    name: str
    step: int
    is_provider: bool = False
    args: Any = None
    seals: dict[SealKind, str] = msgspec.field(default_factory=dict[SealKind, str])
    approval_id: str | None = None
    """The request that the client shows at this call."""
    asks_approval: bool = False
    """Whether the provider asks if it may run the call: it has no output then."""
    is_denied: bool = False
    is_answered: bool = False

    @property
    def by_provider(self) -> bool | None:
        return self.is_provider or None


class AISDKToolCalls:
    """Keeps the calls of one message, by part and by id. `step` and `dialect` are those of the
    current record."""

    def __init__(self, ids: CallIds) -> None:
        self.step = 0
        self.dialect = ""
        self._ids = ids
        self._by_part: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._requests: dict[str, tuple[CallPath, ev.InputRequested]] = {}
        # Tools of the provider that have ended, and whether they succeeded.
        self._ended: dict[_Call, bool] = {}

    def feed(self, event: object) -> list[AISDKFrame]:
        """Return the chunks of an event about a call that was announced."""
        handle = _HANDLERS.get(type(event))
        return [] if handle is None else handle(self, event)

    # -- input

    def start(self, event: ev.ToolCallStarted) -> list[AISDKFrame]:
        """Announce a call."""
        call = self._add(event.call_id, event.part, event.name, event.executor == "provider")
        encoding: Literal["text"] | None = "text" if event.input == "text" else None
        return [fr.ToolInputStart(call.id, call.name, call.by_provider, encoding)]

    def _add(self, call_id: str, part: int, name: str, is_provider: bool) -> _Call:
        call = _Call(self._ids.add((), call_id, part), name, self.step, is_provider)
        self._by_part[part] = self._by_id[call_id] = call
        return call

    def delta(self, event: ev.ToolCallArgsDelta) -> list[AISDKFrame]:
        """Return the chunk of more arguments."""
        call = self._by_part.get(event.part)
        return [] if call is None else [fr.ToolInputDelta(call.id, event.text)]

    def seal(self, event: ev.PartSealed) -> bool:
        """Keep the seal of a call. Returns False if the part is no call."""
        call = self._by_part.get(event.part)
        if call is None:
            return False
        call.seals[event.kind] = event.value
        return True

    def _finish_input(self, event: ev.ToolCallFinished) -> list[AISDKFrame]:
        call = self._by_part.get(event.part)
        if call is None:
            return []
        call.args = event.args
        return [self._input(call)]

    def _input(self, call: _Call) -> AISDKFrame:
        metadata = to_metadata(self.dialect, call.seals)
        return fr.ToolInputAvailable(call.id, call.name, call.args, call.by_provider, metadata)

    def _fail_input(self, event: ev.ToolCallMalformed) -> list[AISDKFrame]:
        call = self._by_part.get(event.part)
        if call is None:
            return []
        return [fr.ToolInputError(call.id, call.name, event.raw, event.error, call.by_provider)]

    def _start_tool(self, event: ev.ToolStarted) -> list[AISDKFrame]:
        """Show the arguments that a person has given instead of the model's."""
        call = self._by_id.get(event.call_id)
        if call is None or event.args is None or event.args == call.args:
            return []
        call.args = event.args
        return [self._input(call)]

    # -- approval and other input

    def request(self, event: ev.InputRequested, path: CallPath) -> list[AISDKFrame]:
        """Show a request at its call. A request of a sub-agent is shown at the outermost call."""
        self._requests[event.request_id] = (path, event)
        call = self._by_id.get(path[0] if path else event.call_id)
        if call is None:
            return []
        if event.kind != "approval":
            return [fr.InputRequest(event.request_id, _describe_request(event, call.id))]
        return [self._ask(call, event, path)]

    def _ask(self, call: _Call, event: ev.InputRequested, path: CallPath) -> AISDKFrame:
        call.approval_id = event.request_id
        nested = {"toolName": event.name, "input": event.args} if path else None
        return fr.ToolApprovalRequest(event.request_id, call.id, event.message or None, nested)

    def answer(self, event: ev.InputAnswered) -> list[AISDKFrame]:
        """Show the answer to an approval that the client shows."""
        path, request = self._requests.pop(event.request_id, ((), None))
        if request is None or request.kind != "approval":
            return []
        call = self._by_id.get(path[0] if path else request.call_id)
        if call is None:
            return []
        is_approved = event.decision == "accepted"
        call.is_denied = not is_approved and not path
        if call.approval_id != event.request_id:
            return []
        reason = event.reason or ("expired" if event.decision == "expired" else None)
        response = fr.ToolApprovalResponse(event.request_id, is_approved, reason)
        # The provider is told, and no result follows here.
        is_over = call.is_denied and call.asks_approval
        return [response, fr.ToolOutputDenied(call.id)] if is_over else [response]

    def ask_again(self, waiting: tuple[str, ...]) -> list[AISDKFrame]:
        """Show open requests that are not shown, because another one was shown at their call."""
        frames: list[AISDKFrame] = []
        for request_id in waiting:
            path, event = self._requests.get(request_id, ((), None))
            if event is None or event.kind != "approval":
                continue
            call = self._by_id.get(path[0] if path else event.call_id)
            if call is not None and call.approval_id not in self._requests:
                frames.append(self._ask(call, event, path))
        return frames

    # -- output

    def _progress(self, event: ev.ToolProgress) -> list[AISDKFrame]:
        call = self._by_id.get(event.call_id)
        if call is None or call.is_answered:
            return []
        fields = {"status": event.status, "progress": event.progress, "log": event.log}
        output = {name: value for name, value in fields.items() if value is not None}
        return [fr.ToolOutputAvailable(call.id, output, preliminary=True)]

    def _result(self, event: ev.ToolResult) -> list[AISDKFrame]:
        call = self._by_id.get(event.call_id)
        if call is None:
            return []
        call.is_answered = True
        if call.is_denied and event.is_error:
            return [fr.ToolOutputDenied(call.id)]
        return [self._output(call, event)]

    def _output(self, call: _Call, event: ev.ToolResult | ev.ToolOutput) -> AISDKFrame:
        value = tool_value(event.content, is_error=event.is_error)
        if value.error is not None:
            return fr.ToolOutputError(call.id, value.error, call.by_provider)
        return fr.ToolOutputAvailable(call.id, value.result, call.by_provider)

    def output(self, event: ev.ToolOutput) -> list[AISDKFrame]:
        """Return the output of a tool that the provider ran; its call may be unknown."""
        call = self._by_id.get(event.call_id)
        frames: list[AISDKFrame] = []
        if call is None or not call.is_provider:
            call = self._add(event.call_id, event.part, _UNKNOWN_TOOL, is_provider=True)
            frames = [fr.ToolInputAvailable(call.id, call.name, {}, call.by_provider)]
        self._ended.pop(call, None)
        if call.asks_approval:
            return []
        call.is_answered = True
        return [*frames, self._output(call, event)]

    def _activity(self, event: ev.ToolActivity) -> list[AISDKFrame]:
        """Note a report; some providers show no output, but report the end of a tool."""
        call = self._by_part.get(event.part)
        if call is not None and event.status == ev.APPROVAL_REQUESTED:
            call.asks_approval = True
        if call is not None and event.status in _ACTIVITY_ENDS:
            self._ended[call] = _ACTIVITY_ENDS[event.status]
        return []

    def flush_ended(self) -> list[AISDKFrame]:
        """Return outputs for tools of the provider that ended without one."""
        ended, self._ended = self._ended, {}
        return [
            fr.ToolOutputAvailable(call.id, None, call.by_provider)
            if is_good
            else fr.ToolOutputError(call.id, "failed", call.by_provider)
            for call, is_good in ended.items()
            if not call.is_answered
        ]

    def discard(self, step: int) -> None:
        """Forget the calls of a discarded step, which the client has dropped."""
        self._ended.clear()
        self._by_part = {part: call for part, call in self._by_part.items() if call.step != step}
        self._by_id = {id: call for id, call in self._by_id.items() if call.step != step}


def _describe_request(event: ev.InputRequested, call_id: str) -> JSONObject:
    fields: JSONObject = {
        "toolCallId": call_id,
        "toolName": event.name,
        "kind": event.kind,
        "message": event.message or None,
        "schema": event.schema,
        "expiresAt": event.expires_at_ms,
    }
    return {name: value for name, value in fields.items() if value is not None}


_Handler: TypeAlias = Callable[[AISDKToolCalls, Any], list[AISDKFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.ToolCallFinished: AISDKToolCalls._finish_input,
    ev.ToolCallMalformed: AISDKToolCalls._fail_input,
    ev.ToolActivity: AISDKToolCalls._activity,
    ev.ToolStarted: AISDKToolCalls._start_tool,
    ev.ToolProgress: AISDKToolCalls._progress,
    ev.ToolResult: AISDKToolCalls._result,
}
