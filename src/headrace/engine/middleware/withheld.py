"""A bone of the run without a word that may have been a secret: its rewriter failed."""

from __future__ import annotations

import msgspec

from headrace import events as ev
from headrace.content import TextContent
from headrace.events import Event
from headrace.outcome import FinishReason

WITHHELD = "[withheld: a rewriter failed]"


def withheld(event: Event) -> Event:
    """The event, emptied of free text. What is no bone is never put back, and stays itself."""
    replace = msgspec.structs.replace
    match event:
        case ev.ToolResult():
            content = (TextContent(WITHHELD),)
            return replace(event, content=content, kind=None, is_error=True)
        case ev.TurnFailed():
            return replace(event, message=WITHHELD, code=None)
        case ev.RunFailed():
            return replace(event, message=WITHHELD)
        case ev.StepDiscarded():
            return replace(event, reason=WITHHELD)
        case ev.StepFinished():
            return replace(event, nudge=event.nudge and WITHHELD)
        case ev.OutputFinished():
            return replace(event, reason=_wordless(event.reason), raw_reason=None)
        case ev.TurnFinished():
            reason = _wordless(event.reason) or event.reason
            return replace(event, reason=reason, raw_reason=None, provider_data={})
        case ev.RunFinished():
            return replace(event, reason=_wordless(event.reason) or event.reason)
        case _:
            return event


def _wordless(reason: FinishReason | None) -> FinishReason | None:
    """The provider's own words go. Why a run was aborted is not the model's to say."""
    if reason is None or reason.word == "aborted" or not reason.detail:
        return reason
    return msgspec.structs.replace(reason, detail="")
