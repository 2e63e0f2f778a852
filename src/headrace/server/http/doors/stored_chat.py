"""Conversations of clients that choose the ids themselves: where a question belongs, and answers to
what a run waits for."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from headrace.engine.input.requests import check_value
from headrace.errors import UsageError
from headrace.messages import InputRequest, Message
from headrace.readers import InvalidRequest
from headrace.readers.client_answer import ClientAnswer, read_approval
from headrace.server.http.doors.asked_requests import AskedRequest, AskedRequests
from headrace.server.http_error import DoorError
from headrace.server.runs.next_question import RunRequest
from headrace.server.service import Service
from headrace.server.storage.store import (
    Conversation,
    InboxEntry,
    NotFound,
    RunRow,
    RunStart,
    StoredMessage,
)

_MAX_NAME_CHARS = 500


def check_name(name: str, param: str) -> str:
    """Return an id that a client has chosen, unless it is too long."""
    if len(name) > _MAX_NAME_CHARS:
        raise InvalidRequest(f"{param} is longer than {_MAX_NAME_CHARS} characters", param)
    return name


async def find_conversation(
    service: Service, owner: str, conversation_id: str
) -> Conversation | None:
    """Return a conversation, or None if there is none yet."""
    try:
        return await service.store.conversation(owner, conversation_id)
    except NotFound:
        return None


class QuestionPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a question belongs in its conversation; see `RunStart`."""

    is_new: bool = False
    parent_id: str | None = None
    beside_id: str | None = None


async def find_place(
    service: Service, owner: str, conversation: Conversation | None, answer_id: str | None
) -> QuestionPlace:
    """Return where a question belongs that follows this answer in the client's list of messages.

    Without an answer before it, it is an edited version of the first question. An answer that the
    server does not know, such as a greeting, is taken for the last one.
    """
    if conversation is None:
        return QuestionPlace(is_new=True)
    ids = [] if conversation.leaf_id is None else await _branch_ids(service, owner, conversation)
    if answer_id is None and ids:
        return QuestionPlace(beside_id=ids[0])
    if answer_id is None or answer_id in ids:
        return QuestionPlace(parent_id=answer_id)
    try:
        branch = await service.store.branch(owner, answer_id)
    except NotFound:
        return QuestionPlace()
    is_here = branch[-1].conversation_id == conversation.id
    return QuestionPlace(parent_id=answer_id if is_here else None)


async def _branch_ids(service: Service, owner: str, conversation: Conversation) -> list[str]:
    return await service.store.branch_ids(owner, conversation.leaf_id or "")


async def find_question(
    service: Service, owner: str, conversation: Conversation, asked: Message
) -> str | None:
    """Return the id of the last question of a conversation if it is the same as this one."""
    if conversation.leaf_id is None:
        return None
    branch = await service.store.branch(owner, conversation.leaf_id)
    questions = [stored for stored in branch if stored.message.role == "user"]
    if not questions or questions[-1].message.content != asked.content:
        return None
    return questions[-1].id


def create_start(
    service: Service,
    *,
    owner: str,
    conversation_id: str,
    model: str,
    request: RunRequest,
    place: QuestionPlace,
    question: Message | None,
    key: str | None,
) -> RunStart:
    """Return the start of a run: of a new question, or without one of an answer to the stored
    question `place.parent_id`."""
    now_ms = service.clock()
    prompt: StoredMessage | None = None
    if question is not None:
        prompt = StoredMessage(
            id=f"msg_{uuid.uuid4().hex}",
            conversation_id=conversation_id,
            parent_id=place.parent_id,
            message=msgspec.structs.replace(question, created_at_ms=now_ms),
        )
    content = () if question is None else question.content
    identity = msgspec.json.encode([model, request, place.parent_id, content])
    return RunStart(
        owner=owner,
        run_id=f"run_{uuid.uuid4().hex}",
        message_id=f"msg_{uuid.uuid4().hex}",
        model=model,
        now_ms=now_ms,
        fingerprint=hashlib.sha256(identity).hexdigest(),
        idempotency_key=key,
        conversation_id=conversation_id,
        is_new=place.is_new,
        parent_id=place.parent_id,
        beside_id=place.beside_id,
        prompt=prompt,
        request=msgspec.json.encode(request).decode(),
    )


# --- answers ---------------------------------------------------------------------------


async def find_asking_run(
    service: Service, owner: str, conversation: Conversation | None
) -> RunRow | None:
    """Return the run whose requests a client of a conversation can answer: the live one, or else
    the one that has written the last answer."""
    if conversation is None:
        return None
    live = await service.store.live_under(owner, conversation.id)
    if live:
        return live[-1]
    try:
        return await service.store.run(owner, conversation.leaf_id or "")
    except NotFound:
        return None


async def answer_run(service: Service, run: RunRow, answers: Sequence[ClientAnswer]) -> int | None:
    """Give the answers of a client to a run. Answers that the run has got already are ignored.

    Returns the number of the record behind which the stream of the answers begins, or None if the
    run has not asked for any of them.
    """
    asked = AskedRequests(run.message_id, await service.log.read(run.id))
    pairs = [(found, answer) for answer in answers if (found := asked.find(answer)) is not None]
    if not pairs:
        return None
    open_pairs = [pair for pair in pairs if pair[0].answered_seq is None]
    if not open_pairs:
        last = max(request.answered_seq or 0 for request, _ in pairs)
        return asked.position_before(last)
    if not run.is_live:
        raise DoorError(409, "run_over", "the run has ended without this answer")
    bodies = [_to_body(request, answer, run.owner) for request, answer in open_pairs]
    for (request, _), body in zip(open_pairs, bodies, strict=True):
        request_id = request.event.request_id
        entry = InboxEntry(
            # The same answer of a client that asks again is the same entry.
            id=f"ent_{hashlib.sha256(request_id.encode()).hexdigest()[:32]}",
            run_id=run.id,
            kind="answer",
            request_id=request_id,
            body=body,
            created_ms=service.clock(),
        )
        await service.store.add_entry(entry)
    await service.runs.wake(run)
    return asked.position_before()


def _to_body(request: AskedRequest, answer: ClientAnswer, by: str) -> dict[str, Any]:
    """Return the arguments of `Run.answer()`. Raises `InvalidRequest`."""
    event = request.event
    if answer.error is not None:
        return {"decision": "denied", "reason": answer.error, "by": by}
    value, reason, decision = answer.value, None, "accepted"
    if event.kind == "approval":
        approval = read_approval(value)
        value, reason = approval.args, approval.reason
        decision = "accepted" if approval.is_approved else "denied"
    if decision == "accepted":
        _check_value(request, value)
    return {"decision": decision, "value": value, "reason": reason, "by": by}


def _check_value(request: AskedRequest, value: Any) -> None:
    event = request.event
    asked = InputRequest(
        request_id=event.request_id,
        kind=event.kind,
        call_id=event.call_id,
        name=event.name,
        schema=event.schema,
        asked_ms=0,
        server=event.server,
    )
    try:
        check_value(asked, value)
    except UsageError as error:
        raise InvalidRequest(str(error)) from None


def ends_at(*payloads: bytes) -> Callable[[bytes], bool]:
    """Return a function that tells whether the payload of a server-sent event begins with one of
    these bytes."""

    beginnings = tuple(b"data: " + payload for payload in payloads)

    def is_last(frame: bytes) -> bool:
        return frame.startswith(beginnings, frame.index(b"\n") + 1)

    return is_last
