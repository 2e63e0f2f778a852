"""Reads messages from plain dicts, in the shapes of OpenAI's and Anthropic's APIs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from headrace.errors import UsageError
from headrace.messages.message import CallResult, Message
from headrace.messages.plain_content import read_content, read_prompt_blocks, to_blocks
from headrace.messages.plain_reply import read_reply

MessageLike: TypeAlias = Message | Mapping[str, Any]
"""A message, or a dict in the shape of OpenAI's chat messages or Anthropic's messages."""

_PROMPT_ROLES = ("user", "system", "developer")


class InvalidMessage(UsageError):
    """A dict that is not a message."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(
            f"message {number} is not in the shape of OpenAI's or Anthropic's messages: {problem}"
        )
        self.number = number
        self.problem = problem


def read_messages(entries: Iterable[MessageLike], dialect: str | None = None) -> list[Message]:
    """Return the entries as messages. Results of tools are joined with the calls they answer.

    `dialect` is that of the protocol which the dicts came in, if they were sent by a client: it
    decides where their signatures are valid. Raises `InvalidMessage`, which names the entry, for a
    dict that is not a message and for a result without a call.
    """
    reader = _Reader(dialect)
    for number, entry in enumerate(entries):
        if isinstance(entry, Message):
            reader.messages.append(entry)
            continue
        try:
            reader.feed(entry)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidMessage(number, f"{type(error).__name__}: {error}") from None
    return reader.messages


class _Reader:
    """Reads dicts one by one; a result belongs to an earlier assistant message."""

    def __init__(self, dialect: str | None) -> None:
        self.messages: list[Message] = []
        self._dialect = dialect

    def feed(self, entry: Mapping[str, Any]) -> None:
        role = entry["role"]
        if role in ("tool", "function"):
            # The result of a legacy function has no id: it names the function.
            call_id = entry["tool_call_id"] if role == "tool" else f"call_{entry['name']}"
            content = read_content(entry.get("content"))
            self._answer(CallResult(call_id=call_id, content=content))
        elif role == "assistant":
            self.messages.append(read_reply(entry, self._dialect))
        elif role in _PROMPT_ROLES:
            self._prompt(role, entry.get("content"))
        else:
            raise ValueError(f"the role {role!r} is unknown")

    def _prompt(self, role: Any, content: Any) -> None:
        blocks = to_blocks(content)
        for block in blocks:
            if block.get("type") == "tool_result":
                self._answer(
                    CallResult(
                        call_id=block["tool_use_id"],
                        content=read_content(block.get("content")),
                        is_error=bool(block.get("is_error")),
                    )
                )
        rest = [block for block in blocks if block.get("type") != "tool_result"]
        if rest or not blocks:
            self.messages.append(Message(role=role, content=read_prompt_blocks(rest)))

    def _answer(self, result: CallResult) -> None:
        for at in range(len(self.messages) - 1, -1, -1):
            message = self.messages[at]
            if any(call.call_id == result.call_id for call in message.calls):
                (turn,) = message.turns
                turn = msgspec.structs.replace(turn, results=(*turn.results, result))
                self.messages[at] = msgspec.structs.replace(message, turns=(turn,))
                return
        raise ValueError(f"there is no earlier call {result.call_id!r} for this result")
