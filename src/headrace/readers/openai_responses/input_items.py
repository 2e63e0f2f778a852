"""Reads the items of a Responses request: messages, reasoning, calls and their results."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from headrace.content import Content, JSONContent, TextContent
from headrace.events import APPROVAL_REQUESTED, JSONObject
from headrace.messages import (
    Activity,
    CallPart,
    CallResult,
    InputRequest,
    Message,
    OpaquePart,
    OutputPart,
    Part,
    ReasoningPart,
    RedactedPart,
    Seal,
    TextPart,
    Turn,
)
from headrace.messages.plain_content import read_content
from headrace.messages.seal_envelope import SealEnvelope, decode_envelope
from headrace.outcome import END_TURN, TOOL_USE
from headrace.readers.incoming import InvalidRequest
from headrace.wire.json.value import as_object, as_objects, as_text

_PROMPT_ROLES = ("user", "system", "developer")
# Calls of the client, and the field with their arguments.
_CLIENT_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "apply_patch_call": "operation",
    "local_shell_call": "action",
    "computer_call": "action",
    "shell_call": "action",
    "tool_search_call": "arguments",
}
# Calls that a provider has run. The finished item is kept, so that it can be sent back.
_PROVIDER_CALLS = {
    "web_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "image_generation_call": "arguments",
    "mcp_call": "arguments",
    "mcp_approval_request": "arguments",
    "program": "code",
    "shell_call": "action",
    "tool_search_call": "arguments",
}
_RESULTS = frozenset(
    "function_call_output custom_tool_call_output apply_patch_call_output"
    " local_shell_call_output computer_call_output shell_call_output tool_search_output"
    " program_output".split()
)
# Results that are items of their own, of calls that the client or the provider has run.
_PROVIDER_RESULTS = frozenset({"shell_call_output", "tool_search_output", "program_output"})
# Ids of the items with which a Headrace server shows the tools of its agents.
_OWN_CALL = re.compile(r"mcp_\w+_\d+")
_NAMED = frozenset({"id", "type", "status", "call_id", "name"})


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request for the approval of a call."""

    item_id: str
    """Id of the item that asked."""
    is_approved: bool
    reason: str | None = None


class InputReader:
    """Reads items one by one. Consecutive items of the model are one turn, until a result comes."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.results: list[CallResult] = []
        """Results of calls that are not among the items: those of the response before."""
        self.approvals: list[Approval] = []
        self._turns: list[_TurnReader] = []

    def feed(self, item: JSONObject, param: str) -> None:
        """Read an item. Raises `InvalidRequest` that names `param`."""
        try:
            self._feed(item)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            kind = type(error).__name__
            raise InvalidRequest(f"the item is malformed: {kind}: {error}", param) from None

    def close(self) -> None:
        """Take the end of the items."""
        if self._turns:
            turns = tuple(turn.turn() for turn in self._turns)
            message = Message(role="assistant", turns=turns, finish=turns[-1].finish)
            self.messages.append(message)
            self._turns = []

    def _feed(self, item: JSONObject) -> None:
        kind = item.get("type") or "message"
        role = item.get("role")
        if kind == "message" and role in _PROMPT_ROLES:
            self.close()
            content = read_content(item["content"])
            self.messages.append(Message(role=cast("Any", role), content=content))
        elif kind == "item_reference":
            raise ValueError("items are not stored one by one: send the item itself")
        elif kind == "mcp_approval_response":
            self._add_approval(item)
        elif kind in _RESULTS:
            self._add_result(item, kind)
        elif kind == "message" and role != "assistant":
            raise ValueError(f"the role {role!r} is unknown")
        else:
            self._add_model_item(item, kind)

    def _add_approval(self, item: JSONObject) -> None:
        approval = Approval(
            item_id=item["approval_request_id"],
            is_approved=item["approve"] is True,
            reason=item.get("reason"),
        )
        self.approvals.append(approval)
        for turn in self._turns:
            turn.approve(approval)

    def _add_result(self, item: JSONObject, kind: str) -> None:
        call_id = as_text(item.get("call_id")) or as_text(item.get("id")) or ""
        result = CallResult(
            call_id=call_id,
            content=_read_output(item, kind),
            is_error=item.get("status") in ("failed", "incomplete"),
        )
        for turn in reversed(self._turns):
            if turn.answer(result):
                return
        if kind in _PROVIDER_RESULTS and not (self._turns and self._turns[-1].is_answered):
            self._turns = self._turns or [_TurnReader()]
            self._turns[-1].add_output(item)
            return
        for at in range(len(self.messages) - 1, -1, -1):
            if any(call.call_id == call_id for call in self.messages[at].calls):
                self.messages[at] = _add_to_message(self.messages[at], result)
                return
        self.results.append(result)

    def _add_model_item(self, item: JSONObject, kind: str) -> None:
        seal = decode_envelope(as_text(item.get("encrypted_content")) or "")
        if seal is not None and self._turns and self._turns[-1].take_seal(seal):
            return
        if not self._turns or self._turns[-1].is_answered:
            self._turns.append(_TurnReader())
        self._turns[-1].feed(item, kind, seal)


def _add_to_message(message: Message, result: CallResult) -> Message:
    """Add a result that comes after other messages to the turn of its call."""
    turns = list(message.turns)
    for at in range(len(turns) - 1, -1, -1):
        if any(call.call_id == result.call_id for call in turns[at].calls):
            results = (*turns[at].results, result)
            turns[at] = msgspec.structs.replace(turns[at], results=results)
            break
    return msgspec.structs.replace(message, turns=tuple(turns))


class _TurnReader:
    """Reads the items of one turn of a model."""

    def __init__(self) -> None:
        self.is_answered = False
        """Whether a result has come, so that the next item of the model is of another turn."""
        self._parts: list[Part] = []
        self._results: list[CallResult] = []
        self._requests: list[InputRequest] = []
        self._seal: SealEnvelope | None = None
        self._items = 0

    def turn(self) -> Turn:
        """Return the turn."""
        has_calls = any(isinstance(p, CallPart) and p.executor == "client" for p in self._parts)
        made_by = self._seal or SealEnvelope(dialect="responses")
        return Turn(
            dialect=made_by.dialect,
            provider=made_by.provider,
            model=made_by.model,
            parts=tuple(self._parts),
            results=tuple(self._results),
            requests=tuple(self._requests),
            finish=TOOL_USE if has_calls else END_TURN,
        )

    def answer(self, result: CallResult) -> bool:
        """Add the result of a call; return whether the call is one of this turn."""
        answered = {known.call_id for known in self._results}
        calls = [
            part.call_id
            for part in self._parts
            if isinstance(part, CallPart) and part.executor == "client"
        ]
        if result.call_id not in calls or result.call_id in answered:
            return False
        self._results.append(result)
        self.is_answered = True
        return True

    def approve(self, approval: Approval) -> None:
        """Add the answer to a request of the provider, if the request is of this turn."""
        for at, part in enumerate(self._parts):
            if isinstance(part, CallPart) and part.item_id == approval.item_id:
                # The label of the server is in the item, which is sent again as it came.
                asked = Activity(0, APPROVAL_REQUESTED, {"server": ""})
                self._parts[at] = msgspec.structs.replace(part, activities=(asked,))
                self._requests.append(_to_request(part, approval))
                self.is_answered = True

    def add_output(self, item: JSONObject) -> None:
        """Add the result of a call that the provider has run, which is an item of its own."""
        self._add_output(item, as_text(item.get("call_id")) or "")
        self._items += 1

    def take_seal(self, seal: SealEnvelope) -> bool:
        """Add seals of a call or a text of this turn; return whether they are such seals."""
        if seal.call_id is None and not seal.is_of_text:
            return False
        self._seal = seal
        texts = [at for at, part in enumerate(self._parts) if isinstance(part, TextPart)]
        for at, part in enumerate(self._parts):
            is_call = isinstance(part, CallPart) and part.call_id == seal.call_id
            is_text = seal.is_of_text and texts[seal.item : seal.item + 1] == [at]
            if is_call or is_text:
                seals = (*part.seals, *seal.seals)
                self._parts[at] = msgspec.structs.replace(part, seals=seals)
        return True

    def feed(self, item: JSONObject, kind: str, seal: SealEnvelope | None) -> None:
        """Add an item."""
        match kind:
            case "message":
                self._add_message(item)
            case "reasoning":
                self._add_reasoning(item, seal)
            case "mcp_call" if _OWN_CALL.fullmatch(as_text(item.get("id")) or ""):
                self._add_own_call(item)
            case _ if kind in _CLIENT_CALLS and _is_run_by_client(kind, item):
                self._add_call(item, kind)
            case _ if kind in _PROVIDER_CALLS:
                self._add_provider_call(item, kind)
            case _:
                data = msgspec.json.encode(item).decode()
                self._parts.append(OpaquePart(kind=kind, data=data, **self._place(item)))
        self._items += 1

    def _place(self, item: JSONObject) -> dict[str, Any]:
        return {
            "part": len(self._parts),
            "output": 0,
            "item": self._items,
            "item_id": as_text(item.get("id")),
            "started_ms": 0,
            "ended_ms": 0,
        }

    def _add_message(self, item: JSONObject) -> None:
        content: Any = item["content"]
        if isinstance(content, str):
            content = [{"type": "output_text", "text": content}]
        for block in content:
            is_refusal = block["type"] == "refusal"
            text = block["refusal"] if is_refusal else block["text"]
            place = self._place(item)
            channel = as_text(item.get("phase"))
            part = TextPart(text=text, channel=channel, is_refusal=is_refusal, **place)
            self._parts.append(part)

    def _add_reasoning(self, item: JSONObject, seal: SealEnvelope | None) -> None:
        seals: tuple[Seal, ...] = ()
        provider_data = None
        if seal is not None:
            self._seal = seal
            if seal.data is not None:
                place = self._place(item)
                data, facts = seal.data, seal.provider_data
                self._parts.append(RedactedPart(data=data, provider_data=facts, **place))
                return
            seals, provider_data = seal.seals, seal.provider_data
        elif encrypted := as_text(item.get("encrypted_content")):
            seals = (Seal("encrypted", encrypted),)
        begin = len(self._parts)
        for number, block in enumerate(as_objects(item.get("summary"))):
            place = self._place(item)
            part = ReasoningPart(text=block["text"], kind="summary", summary_index=number, **place)
            self._parts.append(part)
        for block in as_objects(item.get("content")):
            self._parts.append(ReasoningPart(text=block["text"], **self._place(item)))
        if len(self._parts) == begin:
            self._parts.append(ReasoningPart(text="", **self._place(item)))
        last = cast("ReasoningPart", self._parts[-1])
        self._parts[-1] = msgspec.structs.replace(last, seals=seals, provider_data=provider_data)

    def _add_call(self, item: JSONObject, kind: str) -> None:
        field = _CLIENT_CALLS[kind]
        value = item[field]
        raw = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        facts = {k: v for k, v in item.items() if k not in _NAMED and k != field and v is not None}
        if kind != "function_call":
            facts["type"] = kind
        name = as_text(item.get("name")) or kind.removesuffix("_call")
        call_id = as_text(item.get("call_id")) or as_text(item.get("id")) or ""
        call = CallPart(
            call_id=call_id,
            name=name,
            input="text" if kind == "custom_tool_call" else "json",
            provider_data=facts or None,
            raw=raw,
            **_parse_arguments(raw, is_text=kind == "custom_tool_call"),
            **self._place(item),
        )
        self._parts.append(call)

    def _add_own_call(self, item: JSONObject) -> None:
        """Add a call that the agent of a Headrace server has run, with its result."""
        raw = item["arguments"]
        call_id = as_text(item["id"]) or ""
        facts = _parse_arguments(raw)
        call = CallPart(call_id=call_id, name=item["name"], raw=raw, **facts, **self._place({}))
        self._parts.append(call)
        error = item.get("error")
        text = _read_error(error) if error else as_text(item.get("output")) or ""
        result = CallResult(call_id=call_id, content=(TextContent(text),), is_error=bool(error))
        self._results.append(result)
        self.is_answered = True

    def _add_provider_call(self, item: JSONObject, kind: str) -> None:
        place = self._place(item)
        call_id = as_text(item.get("call_id")) or as_text(item.get("id")) or f"call_{self._items}"
        value = item.get(_PROVIDER_CALLS[kind])
        raw = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        name = as_text(item.get("name")) or kind.removesuffix("_call")
        self._parts.append(
            CallPart(
                call_id=call_id,
                name=name,
                executor="provider",
                provider_data={"type": kind},
                raw=raw,
                args=value,
                **place,
            )
        )
        self._add_output(item, call_id)

    def _add_output(self, item: JSONObject, call_id: str) -> None:
        self._parts.append(
            OutputPart(
                call_id=call_id,
                content=(),
                is_error=item.get("status") == "failed",
                provider_data={"item": item},
                **self._place(item),
            )
        )


def _to_request(call: CallPart, approval: Approval) -> InputRequest:
    return InputRequest(
        request_id=approval.item_id,
        kind="approval",
        call_id=call.call_id,
        name=call.name,
        asked_ms=0,
        server="",
        decision="accepted" if approval.is_approved else "denied",
        reason=approval.reason,
    )


def _is_run_by_client(kind: str, item: JSONObject) -> bool:
    """Return whether the client runs the call. Some kinds can be either."""
    match kind:
        case "shell_call":
            where = as_text(as_object(item.get("environment")).get("type")) or "local"
            return not where.startswith("container")
        case "tool_search_call":
            return item.get("execution") == "client"
        case _:
            return True


def _read_error(error: Any) -> str:
    """Return the text of the error of an `mcp_call`."""
    blocks = as_objects(as_object(error).get("content"))
    return "\n".join(as_text(block.get("text")) or "" for block in blocks) or str(error)


def _parse_arguments(raw: str, *, is_text: bool = False) -> dict[str, Any]:
    """Return the parsed arguments, or what is wrong with them: a model may have written them."""
    if is_text:
        return {"args": raw}
    try:
        return {"args": msgspec.json.decode(raw or "{}")}
    except msgspec.DecodeError as problem:
        return {"error": str(problem)}


def _read_output(item: JSONObject, kind: str) -> tuple[Content, ...]:
    output: Any = item.get("output", item.get("tools"))
    if isinstance(output, str):
        return (TextContent(output),)
    if kind == "computer_call_output":
        return read_content([output | {"type": "input_image"}])
    if kind in ("function_call_output", "custom_tool_call_output"):
        return read_content(output)
    return (JSONContent(output),)
