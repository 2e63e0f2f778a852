"""Messages: the value (`message`), the one assembler (`fold`), and what of it a provider
is sent next time (`history`)."""

from headrace.messages.assembler import Assembler, fold, fold_candidates
from headrace.messages.message import (
    Activity,
    AddedMessage,
    CallPart,
    CallResult,
    Citation,
    InputRequest,
    MediaPart,
    Message,
    OpaquePart,
    OutputEnd,
    OutputPart,
    Part,
    ReasoningPart,
    RedactedPart,
    Seal,
    TextPart,
    Turn,
)
from headrace.messages.plain_messages import MessageLike, read_messages
from headrace.messages.provider_history import (
    ApprovalAnswer,
    AssistantEntry,
    HistoryEntry,
    PromptEntry,
    ToolResultsEntry,
    history,
)

__all__ = [
    "Activity",
    "AddedMessage",
    "ApprovalAnswer",
    "Assembler",
    "CallPart",
    "CallResult",
    "Citation",
    "HistoryEntry",
    "InputRequest",
    "MediaPart",
    "Message",
    "MessageLike",
    "OpaquePart",
    "OutputEnd",
    "OutputPart",
    "Part",
    "PromptEntry",
    "ReasoningPart",
    "RedactedPart",
    "AssistantEntry",
    "ToolResultsEntry",
    "Seal",
    "TextPart",
    "Turn",
    "fold",
    "fold_candidates",
    "history",
    "read_messages",
]
