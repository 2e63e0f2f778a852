"""The exceptions that Headrace raises.

    HeadraceError
    ├── UsageError          the caller broke a contract
    ├── RequestFailed       no stream began: status, category, retryable, request id
    ├── WireError           the bytes break the format
    │   └── LimitExceeded   a named limit was exceeded
    ├── OutputInvalid       an answer is not of the type that was asked for
    ├── InputRequired       a run waits for input, and was suspended
    ├── InputError          a file or a stored run that was named cannot be read
    ├── Terminate           raised by hooks and tools to end a run
    └── StreamBroken        a stream broke off (headrace.transport); becomes a terminal event

An error before the first event is an exception; an error after it is one terminal event. It is
never both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.events import Record
    from headrace.messages import InputRequest
    from headrace.outcome import ErrorCategory
    from headrace.turn.result import Result


class HeadraceError(Exception):
    """Base class of everything that Headrace raises on purpose."""


class UsageError(HeadraceError):
    """The caller broke a contract. The message says what was expected and what was given."""


class RequestFailed(HeadraceError):
    """The provider rejected the request, or could not be reached, before a stream began."""

    def __init__(
        self,
        message: str,
        *,
        category: ErrorCategory,
        status: int | None = None,
        code: str | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.category: ErrorCategory = category
        self.status = status
        self.code = code
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.request_id = request_id


class WireError(HeadraceError):
    """The bytes break the format they claim to have."""


class LimitExceeded(WireError):
    """A named limit was exceeded; `limit` is its name in `headrace.wire.limits.WireLimits`."""

    def __init__(self, limit: str, allowed: int) -> None:
        super().__init__(f"the stream passes {limit}={allowed}")
        self.limit = limit
        self.allowed = allowed


class OutputInvalid(HeadraceError):
    """The answer is not of the type that was asked for, or did not come.

    `text` is the answer, `problem` what is wrong with it, and `result` everything else: the whole
    message and its usage.
    """

    def __init__(self, problem: str, *, text: str, result: Result) -> None:
        super().__init__(f"there is no answer of the type that was asked for: {problem}")
        self.problem = problem
        self.text = text
        self.result = result


class InputRequired(HeadraceError):
    """The run was suspended because it needs input. `requests` says what it needs. Continue it with
    `agent.resume(records, …)` and `run.answer()`."""

    def __init__(self, requests: list[InputRequest], records: list[Record]) -> None:
        names = ", ".join(sorted({request.name for request in requests}))
        super().__init__(f"the run was suspended: it waits for input for {names or 'later'}")
        self.requests = requests
        self.records = records


class InputError(HeadraceError):
    """A file or a stored run that was named cannot be read. The message follows its name."""


class Terminate(HeadraceError):
    """Raise this in a hook or a tool to end the run.

    The run finishes as `aborted(terminated)` with `reason`, and every open call gets a result.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
