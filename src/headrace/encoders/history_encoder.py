"""The walk over a conversation that all request encoders share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from headrace import messages as msg
from headrace.content import TextContent
from headrace.encoders.request import Request
from headrace.encoders.resend_rules import CallIds, is_from_same_model
from headrace.encoders.text_content import to_text
from headrace.events import JSONObject


class HistoryEncoder(ABC):
    """Encodes a conversation entry by entry. A subclass defines what each entry becomes.

    While a reply and its results are encoded, `is_ours` tells whether the model of the request made
    the reply, and `ids` has the ids of its calls.
    """

    dialect: ClassVar[str]
    has_system_messages: ClassVar[bool] = False
    """Whether the instructions are the first message, instead of a field of the body."""

    def __init__(self, request: Request, call_id_pattern: str = r"[A-Za-z0-9_-]{1,40}") -> None:
        self.request = request
        self.ids = CallIds(call_id_pattern)
        self.is_ours = False

    def encode(self) -> list[Any]:
        """Return the encoded entries, in order."""
        items: list[Any] = []
        if self.has_system_messages and self.request.instructions:
            content = (TextContent(self.request.instructions),)
            items += self.encode_prompt(msg.PromptEntry("system", content))
        for entry in msg.history(self.request.messages):
            match entry:
                case msg.PromptEntry():
                    items += self.encode_prompt(entry)
                case msg.AssistantEntry():
                    self.is_ours = is_from_same_model(entry, self.request, self.dialect)
                    self.ids.begin(entry, self.is_ours)
                    items += self.encode_reply(entry)
                case msg.ToolResultsEntry():
                    items += self.encode_results(entry.results) if entry.results else []
                    items += self.encode_approvals(entry.approvals)
        return items

    @abstractmethod
    def encode_prompt(self, prompt: msg.PromptEntry) -> list[Any]:
        """Encode a message that is not from the model."""

    @abstractmethod
    def encode_reply(self, reply: msg.AssistantEntry) -> list[Any]:
        """Encode one turn of the model."""

    @abstractmethod
    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[Any]:
        """Encode the results of the client calls of the latest reply."""

    def encode_approvals(self, approvals: tuple[msg.ApprovalAnswer, ...]) -> list[Any]:
        """Encode the answers to what the provider asked in the latest reply. Only some dialects
        have such requests."""
        return []


def collect_instructions(request: Request) -> list[str]:
    """Return all instructions, for dialects with one field for them."""
    prompts = [m for m in request.messages if m.role in ("system", "developer")]
    texts = [request.instructions or "", *(to_text(prompt.content) for prompt in prompts)]
    return [text for text in texts if text.strip()]


def merge_roles(messages: list[JSONObject], field: str) -> list[JSONObject]:
    """Join consecutive messages of one role, because roles must alternate in some dialects.
    `field` names the list to join; messages whose list is empty are dropped."""
    merged: list[JSONObject] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1][field] += message[field]
        elif message[field]:
            merged.append(message)
    return merged
