"""Turns records into the Responses protocol: one response with its items, and one end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from headrace import events as ev
from headrace.errors import UsageError
from headrace.events import JSONObject, ReasoningDelta, Record, TextDelta, ToolCallArgsDelta
from headrace.messages import Message
from headrace.outcome import TOOL_USE, FinishReason
from headrace.projections.ending import GOES_ON, Terminal, ending
from headrace.projections.openai_responses.frame import ResponsesFrame
from headrace.projections.openai_responses.open_requests import OpenRequests
from headrace.projections.openai_responses.output import ResponseOutput
from headrace.projections.openai_responses.response import (
    ResponseEnd,
    build_response,
    encode_usage,
    fail,
    find_end,
)
from headrace.usage import Usage

ReasoningEvents: TypeAlias = Literal["openai", "open_responses"]
"""How raw reasoning is streamed: `response.reasoning_text.delta`, which OpenAI's clients read, or
`response.reasoning.delta`, which Open Responses has."""

CLIENT_RESULT = "client"
"""Kind of the result that stands for one that the client will send with its next request."""
_RAW_NOUNS = {"openai": "response.reasoning_text", "open_responses": "response.reasoning"}
_CUT_SHORT = frozenset({"max_tokens", "context_full", "time_limit", "content_filter", "aborted"})
_DISCARDED = "a step of the answer failed and is tried again, which this stream cannot show: {}"
# Why a response is incomplete whose run waits for a form or a text.
_QUESTION = "input_required"
_ID_PREFIX = "resp_"
_MESSAGE_PREFIX = "msg_"
_MAX_DIGITS = 6


class ResponsesProjection:
    """Turns the records of a turn or a run into frames of a response.

    Feed every record; `close()` returns the last frames if no `RunClosed` did. Tools of the agent
    are `mcp_call` items of the server `label`; those in `client_tools`, and all calls outside a
    run, are calls of the client. Only the first of several candidates is shown; of nested runs
    only their requests for approval are.

    A run that waits for approvals ends the response. What follows the answers is another response:
    `stretch` is the number of such waits before it.
    """

    def __init__(
        self,
        response_id: str,
        *,
        request: JSONObject | None = None,
        client_tools: frozenset[str] = frozenset(),
        reasoning_events: ReasoningEvents = "openai",
        includes_seals: bool = False,
        label: str = "headrace",
        stretch: int = 0,
    ) -> None:
        if reasoning_events not in get_args(ReasoningEvents):
            names = " and ".join(get_args(ReasoningEvents))
            raise UsageError(f"no reasoning events {reasoning_events!r}: there are {names}")
        self.id = response_id
        self._request = request or {}
        self._client_tools = client_tools
        self._output = ResponseOutput(
            response_id.removeprefix(_ID_PREFIX),
            raw_noun=_RAW_NOUNS[reasoning_events],
            includes_seals=includes_seals,
            label=label,
        )
        self._waits_left = stretch
        self._is_run = False
        self._is_successive = False
        self._shown: int | None = None
        self._model: str | None = None
        self._created_ms: int | None = None
        self._at_ms = 0
        self._first_of_step = 0
        self._shown_end: FinishReason | None = None
        self._is_complete = True
        self._usage = Usage()
        self._waits_for_client = False
        self._requests = OpenRequests()
        self._terminal: Terminal | None = None
        self._end: ResponseEnd | None = None

    @property
    def is_over(self) -> bool:
        """Whether the last frame was returned."""
        return self._end is not None

    def feed(self, record: Record) -> list[ResponsesFrame]:
        """Return the frames of the next record."""
        event = record.event
        kind = type(event)
        if self._end is not None or self._waits_left:
            self._pass_by(record)
            return []
        if record.path:
            return self._feed_nested(record)
        if kind is TextDelta or kind is ReasoningDelta:
            return self._output.add_delta(event.part, event.text)  # type: ignore[union-attr,arg-type]
        if kind is ToolCallArgsDelta:
            return self._output.add_arguments(event.part, event.text)  # type: ignore[union-attr,arg-type]
        self._at_ms = record.at_ms
        frames = self._start() if self._created_ms is None else []
        if isinstance(event, GOES_ON):
            self._terminal = None
        handle = _HANDLERS.get(kind)
        return frames if handle is None else [*frames, *handle(self, event)]

    def close(self) -> list[ResponsesFrame]:
        """End the stream: return the last frames, unless they were sent already."""
        if self._end is not None:
            return []
        return [*(self._start() if self._created_ms is None else []), *self._close_run(None)]

    def response(self) -> JSONObject:
        """Return the response as it is now."""
        created_ms = self._at_ms if self._created_ms is None else self._created_ms
        facts: JSONObject = {
            "id": self.id,
            "created_at": created_ms // 1000,
            "model": self._request.get("model") or self._model or "unknown",
        }
        end = self._end
        if end is not None:
            facts["usage"] = encode_usage(self._usage)
            if end.status == "completed":
                facts["completed_at"] = self._at_ms // 1000
        return build_response(self._request, facts, end, self._output.snapshot())

    # -- beginning

    def _pass_by(self, record: Record) -> None:
        """Take a record before the beginning of this response, or after its end."""
        event = record.event
        if self._end is not None or record.path:
            return
        self._at_ms = record.at_ms
        match event:
            case ev.RunStarted():
                self._run_started(event)
            case ev.TurnStarted():
                self._turn_started(event)
            case ev.OutputStarted():
                self._output_started(event)
            case ev.RunSuspended(reason="input"):
                self._waits_left -= 1
            case _:
                pass

    def _start(self) -> list[ResponsesFrame]:
        self._created_ms = self._at_ms
        return [
            self._output.frame("response.created", {"response": self.response()}),
            self._output.frame("response.in_progress", {"response": self.response()}),
        ]

    def _run_started(self, event: ev.RunStarted) -> list[ResponsesFrame]:
        self._is_run = True
        self._model = event.model
        return []

    def _step_started(self, event: ev.StepStarted) -> list[ResponsesFrame]:
        self._first_of_step = len(self._output)
        return []

    def _turn_started(self, event: ev.TurnStarted) -> list[ResponsesFrame]:
        self._output.start_turn(event)
        self._is_successive = event.outputs == "successive"
        self._shown = self._shown_end = None
        self._model = self._model or event.model
        return []

    def _output_started(self, event: ev.OutputStarted) -> list[ResponsesFrame]:
        if self._shown is None:
            self._shown = event.output
        return []

    def _is_shown(self, output: int) -> bool:
        return self._is_successive or self._shown is None or output == self._shown

    # -- items

    def _text_started(self, event: ev.TextStarted) -> list[ResponsesFrame]:
        return self._output.prose.start_text(event) if self._is_shown(event.output) else []

    def _reasoning_started(self, event: ev.ReasoningStarted) -> list[ResponsesFrame]:
        return self._output.prose.start_reasoning(event) if self._is_shown(event.output) else []

    def _add_redacted(self, event: ev.ReasoningRedacted) -> list[ResponsesFrame]:
        return self._output.prose.add_redacted(event) if self._is_shown(event.output) else []

    def _part_finished(self, event: ev.TextFinished) -> list[ResponsesFrame]:
        return self._output.prose.finish_part(event.part)

    def _reasoning_finished(self, event: ev.ReasoningFinished) -> list[ResponsesFrame]:
        return self._output.prose.finish_part(event.part, event.signature)

    def _restore(self, event: ev.PartRestored) -> list[ResponsesFrame]:
        return self._output.restore(event)

    def _add_seal(self, event: ev.PartSealed) -> list[ResponsesFrame]:
        self._output.seal(event)
        return []

    def _add_citation(self, event: ev.CitationAdded) -> list[ResponsesFrame]:
        return self._output.prose.cite(event)

    def _call_started(self, event: ev.ToolCallStarted) -> list[ResponsesFrame]:
        if not self._is_shown(event.output):
            return []
        if self._is_run and self._requests.add_call(event):
            return []
        is_agents = (
            self._is_run and event.executor == "client" and event.name not in self._client_tools
        )
        return self._output.start_call(event, is_agents=is_agents)

    def _arguments_finished(
        self, event: ev.ToolCallFinished | ev.ToolCallMalformed
    ) -> list[ResponsesFrame]:
        return self._output.calls.finish_arguments(event)

    def _activity(self, event: ev.ToolActivity) -> list[ResponsesFrame]:
        return self._output.calls.report(event)

    def _tool_output(self, event: ev.ToolOutput) -> list[ResponsesFrame]:
        if not self._is_shown(event.output) or self._requests.is_request(event.call_id):
            return []
        return self._output.add_output(event)

    def _media(self, event: ev.MediaProduced) -> list[ResponsesFrame]:
        return self._output.add_media(event) if self._is_shown(event.output) else []

    def _opaque(self, event: ev.OpaqueItem) -> list[ResponsesFrame]:
        return self._output.add_opaque(event) if self._is_shown(event.output) else []

    def _tool_result(self, event: ev.ToolResult) -> list[ResponsesFrame]:
        if event.kind == CLIENT_RESULT:
            self._waits_for_client = True
            return []
        return self._output.calls.add_result(event.call_id, event.content, is_error=event.is_error)

    # -- approvals

    def _feed_nested(self, record: Record) -> list[ResponsesFrame]:
        """Return the frames of what a sub-agent asks for; the rest of it is not shown."""
        event = record.event
        if isinstance(event, ev.InputRequested):
            return self._input_requested(event)
        return self._input_answered(event) if isinstance(event, ev.InputAnswered) else []

    def _input_requested(self, event: ev.InputRequested) -> list[ResponsesFrame]:
        return self._show_approval(event) if self._requests.add(event) else []

    def _show_approval(self, event: ev.InputRequested) -> list[ResponsesFrame]:
        return self._output.add_approval_request(approval_id(event.request_id), event)

    def _input_answered(self, event: ev.InputAnswered) -> list[ResponsesFrame]:
        self._requests.answer(event.request_id)
        return []

    def _suspended(self, event: ev.RunSuspended) -> list[ResponsesFrame]:
        """End the response: it goes on as another one when the approvals are answered."""
        if event.reason != "input":
            return []
        requests = self._requests
        asked = [frame for one in requests.of_provider for frame in self._show_approval(one)]
        is_stuck = requests.has_questions
        end = ResponseEnd("incomplete", _QUESTION) if is_stuck else ResponseEnd("completed")
        return [*asked, *self._output.close(), *self._finish(end)]

    # -- ends

    def _output_finished(self, event: ev.OutputFinished) -> list[ResponsesFrame]:
        if self._is_shown(event.output) and not self._is_successive:
            self._shown_end = event.reason
        return []

    def _turn_finished(self, event: ev.TurnFinished) -> list[ResponsesFrame]:
        """Note how the turn ended. With several candidates, the one that is shown decides."""
        reason = self._shown_end or event.reason
        self._terminal = msgspec.structs.replace(event, reason=reason)
        self._is_complete = self._is_complete and event.is_complete
        self._usage = self._usage + event.usage
        return self._output.end_turn(is_cut=reason.word in _CUT_SHORT)

    def _turn_failed(self, event: ev.TurnFailed) -> list[ResponsesFrame]:
        self._terminal = event
        self._usage = self._usage + event.usage
        return self._output.end_turn(is_cut=True)

    def _step_discarded(self, event: ev.StepDiscarded) -> list[ResponsesFrame]:
        """End the response if something of the step was sent: the protocol cannot take it back."""
        if len(self._output) == self._first_of_step:
            return []
        end = fail("server", _DISCARDED.format(event.reason))
        return [*self._output.close(), *self._finish(end)]

    def _run_ended(self, event: ev.RunFinished | ev.RunFailed) -> list[ResponsesFrame]:
        self._terminal = event
        self._usage = event.usage
        return []

    def _close_run(self, closed: ev.RunClosed | None) -> list[ResponsesFrame]:
        terminal = self._terminal
        reason = terminal.reason if isinstance(terminal, ev.TurnFinished | ev.RunFinished) else None
        if self._waits_for_client and reason is not None and reason.kind == "terminated":
            # The calls of the client are what the response was to end with.
            reason = TOOL_USE
        end = find_end(ending(terminal, closed), reason, is_complete=self._is_complete)
        return [*self._output.close(), *self._finish(end)]

    def _finish(self, end: ResponseEnd) -> list[ResponsesFrame]:
        self._end = end
        return [self._output.frame(end.event_type, {"response": self.response()})]


def approval_id(request_id: str) -> str:
    """Return the id of the item that asks for an approval."""
    return f"mcpr_{request_id}"


_Handler: TypeAlias = Callable[[ResponsesProjection, Any], list[ResponsesFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.RunStarted: ResponsesProjection._run_started,
    ev.StepStarted: ResponsesProjection._step_started,
    ev.TurnStarted: ResponsesProjection._turn_started,
    ev.OutputStarted: ResponsesProjection._output_started,
    ev.OutputFinished: ResponsesProjection._output_finished,
    ev.TextStarted: ResponsesProjection._text_started,
    ev.TextFinished: ResponsesProjection._part_finished,
    ev.ReasoningStarted: ResponsesProjection._reasoning_started,
    ev.ReasoningFinished: ResponsesProjection._reasoning_finished,
    ev.ReasoningRedacted: ResponsesProjection._add_redacted,
    ev.PartRestored: ResponsesProjection._restore,
    ev.PartSealed: ResponsesProjection._add_seal,
    ev.CitationAdded: ResponsesProjection._add_citation,
    ev.ToolCallStarted: ResponsesProjection._call_started,
    ev.ToolCallFinished: ResponsesProjection._arguments_finished,
    ev.ToolCallMalformed: ResponsesProjection._arguments_finished,
    ev.ToolActivity: ResponsesProjection._activity,
    ev.ToolOutput: ResponsesProjection._tool_output,
    ev.MediaProduced: ResponsesProjection._media,
    ev.OpaqueItem: ResponsesProjection._opaque,
    ev.ToolResult: ResponsesProjection._tool_result,
    ev.InputRequested: ResponsesProjection._input_requested,
    ev.InputAnswered: ResponsesProjection._input_answered,
    ev.RunSuspended: ResponsesProjection._suspended,
    ev.TurnFinished: ResponsesProjection._turn_finished,
    ev.TurnFailed: ResponsesProjection._turn_failed,
    ev.StepDiscarded: ResponsesProjection._step_discarded,
    ev.RunFinished: ResponsesProjection._run_ended,
    ev.RunFailed: ResponsesProjection._run_ended,
    ev.RunClosed: ResponsesProjection._close_run,
}


class ResponseProfile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run is shown as a response, as it is stored with the run."""

    request: JSONObject = {}
    """Fields of the response that repeat the request."""
    client_tools: tuple[str, ...] = ()
    """Names of the tools that the client runs."""
    includes_seals: bool = False
    """Whether encrypted reasoning was asked for."""
    label: str = "headrace"
    """Name of the agent, as the server of its tools."""


_decode_options = msgspec.json.Decoder(ResponseProfile).decode


def create_projection(
    event_id: str | None = None,
    message: Callable[[], Message] | None = None,
    *,
    options: str = "{}",
    stretch: int = 0,
    reasoning_events: ReasoningEvents = "openai",
) -> ResponsesProjection:
    """Create the projection of one run; see `headrace.projections.registry`.

    `options` is the JSON of `ResponseProfile`: a text, since views of a run are compared by their
    options.
    """
    told = _decode_options(options)
    return ResponsesProjection(
        make_response_id(event_id or "0", stretch),
        request=told.request,
        client_tools=frozenset(told.client_tools),
        reasoning_events=reasoning_events,
        includes_seals=told.includes_seals,
        label=told.label,
        stretch=stretch,
    )


def make_response_id(message_id: str, stretch: int = 0) -> str:
    """Return the id of a response: that of its message, and which part of the run it is."""
    name = message_id.removeprefix(_MESSAGE_PREFIX)
    return f"{_ID_PREFIX}{name}" + (f"_{stretch}" if stretch else "")


def parse_response_id(response_id: str) -> tuple[str, int] | None:
    """Return the message id and the stretch of a response id, or None if it is malformed."""
    if not response_id.startswith(_ID_PREFIX):
        return None
    name, _, stretch = response_id.removeprefix(_ID_PREFIX).partition("_")
    if stretch and not (stretch.isascii() and stretch.isdigit() and len(stretch) < _MAX_DIGITS):
        return None
    return f"{_MESSAGE_PREFIX}{name}", int(stretch or 0)
