"""Requests for a provider that uses the grammar of the client: their bodies are passed on with the
fewest changes."""

from __future__ import annotations

import msgspec

from headrace.events import JSONObject
from headrace.transport.transport import HTTPCall
from headrace.wire.json.value import as_object


def pass_body(call: HTTPCall, body: JSONObject, model: str) -> HTTPCall:
    """Return the call with the client's own body, for the provider's name of the model. The answer
    is always streamed, with its usage."""
    sent = {**body, "model": model, "stream": True}
    if "messages" in body and call.url.partition("?")[0].endswith("/chat/completions"):
        options = as_object(body.get("stream_options"))
        sent["stream_options"] = {**options, "include_usage": True}
    return msgspec.structs.replace(call, body=msgspec.json.encode(sent))


def find_added_fields(before: HTTPCall, after: HTTPCall) -> JSONObject:
    """Return the fields of a body that another one does not have."""
    old, new = (as_object(msgspec.json.decode(call.body)) for call in (before, after))
    return {name: value for name, value in new.items() if name not in old}
