"""Compaction: a conversation as one item that the client sends in its place.

The item is signed with a key of the server and belongs to one user. It is not encrypted: whoever
has the item could read the conversation anyway.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from binascii import Error as Base64Error

import msgspec

from headrace.engine import Summarize
from headrace.engine.conversation.summarizer import PROMPT
from headrace.engine.run_broken import RunBroken
from headrace.events import JSONObject
from headrace.messages import Message
from headrace.projections.openai_responses.response import encode_usage
from headrace.readers import InvalidRequest
from headrace.readers.openai_responses import read_request
from headrace.server.http.doors.responses.input import encode_items, join_input
from headrace.server.http.doors.responses.offer import to_agent_offer
from headrace.server.http.doors.responses.starter import PROTOCOL, ResponseStarter
from headrace.server.runs.unstored import to_door_error
from headrace.server.service import Service
from headrace.server.storage.access_tokens import User
from headrace.server.storage.usage.usage_table import UsageRow
from headrace.tools import Toolset
from headrace.usage import Usage
from headrace.wire.json.value import as_list, as_object, as_text

_PREFIX = "hrc1."
_KEY_NAME = "compaction"
_decode_messages = msgspec.json.Decoder(list[Message]).decode
_NO_USAGE = Usage(input_tokens=0, output_tokens=0)


class Compaction:
    """Compacts conversations, and reads the items that stand for them."""

    def __init__(self, service: Service, starter: ResponseStarter) -> None:
        self._service = service
        self._starter = starter

    async def compact(self, user: User, body: JSONObject) -> JSONObject:
        """Return a response with one item that stands for the conversation of a request."""
        service = self._service
        asked = read_request(await self.expand(user.owner, body))
        offer = to_agent_offer(service.models.find_offer(user, asked.request.model))
        history: list[Message] = []
        if asked.previous_response_id is not None:
            previous = await self._starter.find_previous(user.owner, asked.previous_response_id)
            history = await self._starter.read_history(user.owner, previous)
        messages = [*history, *join_input(history, asked)]
        service.quota.count_request(user.owner)
        await service.count_use(user)
        agent = offer.agent.replace(instructions=PROMPT)
        agent.tools = Toolset([])
        summarizer = Summarize(agent, max_messages=1)
        name, started_ms = uuid.uuid4().hex, service.clock()
        outcome = "left"
        try:
            with service.quota.reserve(user.owner, f"run_{name}"):
                shorter = await summarizer.compact(messages, is_forced=True)
            outcome = "end_turn"
        except RunBroken as broken:
            outcome = broken.category
            raise to_door_error(broken.category, str(broken)) from None
        finally:
            row = UsageRow.create(
                owner=user.owner,
                door=PROTOCOL,
                name=offer.name,
                model=offer.model,
                usage=_NO_USAGE + summarizer.usage,
                started_ms=started_ms,
                ended_ms=service.clock(),
                outcome=outcome,
                quota_id=user.quota_id,
            )
            await service.usage.add(row)
        sealed = await self._seal(user.owner, list(shorter or messages))
        item = {"id": f"cmp_{name}", "type": "compaction", "encrypted_content": sealed}
        return {
            "id": f"resp_{name}",
            "object": "response.compaction",
            "created_at": service.clock() // 1000,
            "output": [item],
            "usage": encode_usage(_NO_USAGE + summarizer.usage),
        }

    async def expand(self, owner: str, body: JSONObject) -> JSONObject:
        """Return the body of a request with the conversation in place of each compaction item of
        this server. Raises `InvalidRequest` for one that this server has not made for the user."""
        items: list[JSONObject] = []
        is_changed = False
        for at, item in enumerate(as_list(body.get("input"))):
            entry = as_object(item)
            text = as_text(entry.get("encrypted_content")) or ""
            if entry.get("type") != "compaction" or not text.startswith(_PREFIX):
                items.append(item)
                continue
            is_changed = True
            items += _to_items(await self._open(owner, text, f"input[{at}]"))
        return {**body, "input": items} if is_changed else body

    async def _seal(self, owner: str, messages: list[Message]) -> str:
        payload = base64.urlsafe_b64encode(msgspec.json.encode(messages)).decode()
        return f"{_PREFIX}{payload}.{await self._sign(owner, payload)}"

    async def _open(self, owner: str, text: str, param: str) -> list[Message]:
        payload, _, signature = text.removeprefix(_PREFIX).partition(".")
        if not hmac.compare_digest(signature, await self._sign(owner, payload)):
            raise InvalidRequest("this compaction item was not made here for this user", param)
        try:
            return _decode_messages(base64.urlsafe_b64decode(payload))
        except (Base64Error, msgspec.DecodeError) as error:
            raise InvalidRequest(f"the compaction item is malformed: {error}", param) from None

    async def _sign(self, owner: str, payload: str) -> str:
        key = await self._service.storage.server_key(_KEY_NAME)
        text = f"{len(owner)}:{owner}:{payload}".encode("utf-8", "surrogatepass")
        return hmac.new(key, text, hashlib.sha256).hexdigest()


def _to_items(messages: list[Message]) -> list[JSONObject]:
    return [item for message in messages for item in encode_items(message)]
