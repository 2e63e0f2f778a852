"""The Chat Completions dialect, as OpenAI defined it and others have changed it."""

from headrace.wire.dialects.chat.dialect import ChatDialect
from headrace.wire.dialects.chat.quirks import DEFAULT_QUIRKS, ChatQuirks

__all__ = ["DEFAULT_QUIRKS", "ChatDialect", "ChatQuirks"]
