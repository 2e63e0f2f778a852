"""The request of a client, after it has been read."""

from __future__ import annotations

import msgspec

from headrace.encoders.request import Request
from headrace.errors import HeadraceError
from headrace.events import JSONObject


class InvalidRequest(HeadraceError):
    """A request of a client that cannot be understood, or asks for something that is not
    offered."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        """The field that is wrong, such as `messages[2].content`, if it is one."""


class IncomingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request of a client. Protocols with more fields derive their own."""

    request: Request
    """What the model is asked. Its `model` is the name that the client has given."""
    is_stream: bool = False
    """Whether the answer is to be streamed."""
    dialect: str | None = None
    """The name of the dialect whose providers take the same body, or None if there are none."""
    body: JSONObject = {}
    """The body as it came, for a provider that takes the same."""
    same_grammar_only: InvalidRequest | None = None
    """Why only a provider that takes the same body can answer, such as a kind of tool that other
    grammars do not have; None if any provider can."""
    unknown: JSONObject = {}
    """Fields of the body that Headrace does not know. They are sent on if the request goes out in
    the same grammar, and are ignored otherwise."""
