"""What a run waits for, as far as a response shows it."""

from __future__ import annotations

from headrace import events as ev
from headrace.wire.json.value import as_text


class OpenRequests:
    """The requests of a run that nobody has answered. Approvals of calls of the agent are shown at
    once; those for which the provider asks, only when the run waits for them, because a rule or an
    earlier answer may decide."""

    def __init__(self) -> None:
        self._questions: set[str] = set()
        self._of_provider: dict[str, ev.InputRequested] = {}
        self._asking_calls: set[str] = set()

    @property
    def has_questions(self) -> bool:
        """Whether the run waits for something that the protocol cannot ask for."""
        return bool(self._questions)

    @property
    def of_provider(self) -> list[ev.InputRequested]:
        """The approvals for which the provider asks."""
        return list(self._of_provider.values())

    def add_call(self, event: ev.ToolCallStarted) -> bool:
        """Return whether the call is a request of the provider, which the run asks for itself."""
        told = as_text((event.provider_data or {}).get("type"))
        if event.executor != "provider" or told != "mcp_approval_request":
            return False
        self._asking_calls.add(event.call_id)
        return True

    def is_request(self, call_id: str) -> bool:
        """Return whether a call was a request of the provider."""
        return call_id in self._asking_calls

    def add(self, event: ev.InputRequested) -> bool:
        """Add a request. Returns whether it is an approval to be shown at once."""
        if event.kind != "approval":
            self._questions.add(event.request_id)
        elif event.server is not None:
            self._of_provider[event.request_id] = event
        else:
            return True
        return False

    def answer(self, request_id: str) -> None:
        """Forget a request that was answered."""
        self._questions.discard(request_id)
        self._of_provider.pop(request_id, None)
