"""The result of a finished turn or run."""

from __future__ import annotations

import msgspec

from headrace.messages import Message
from headrace.outcome import ErrorInfo, FinishReason
from headrace.usage import Usage


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What `complete()` and an agent's `complete()` return. Either `finish` or `error` is set."""

    message: Message
    """The whole answer: reasoning, text, calls and their results, citations."""
    finish: FinishReason | None = None
    """Why the model stopped, or None if the turn or run failed."""
    error: ErrorInfo | None = None
    """What failed, or None. `message` holds what arrived before the error."""
    usage: Usage = Usage()
    """Tokens and cost of all turns."""

    @property
    def is_complete(self) -> bool:
        """False if frames of the stream could not be read, so that content may be missing."""
        return self.message.is_complete

    @property
    def warning(self) -> str | None:
        """What is known about missing content, as a sentence, or None."""
        return self.message.warning

    @property
    def text(self) -> str:
        """The answer: the text of the last turn."""
        return self.message.turns[-1].text if self.message.turns else ""


def result_of(message: Message) -> Result:
    """Return the result whose answer is this complete message."""
    return Result(message=message, finish=message.finish, error=message.error, usage=message.usage)
