"""Converts a call to what gRPC needs: an address, a target, metadata and a message."""

# These packages have no types for a strict check.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import re
from typing import Any
from urllib.parse import SplitResult, urlsplit

from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass
from xai_sdk.proto import chat_pb2

from headrace.address import is_this_machine
from headrace.errors import UsageError
from headrace.secrets.scrub import MAX_MESSAGE_CHARS
from headrace.transport.call_secrets import SHOWN_HEADERS, address_of, secrets_of
from headrace.transport.transport import HTTPCall

# Belongs to the connection, not to the call.
_NOT_SENT = frozenset({"content-type", "content-length", "accept-encoding", "host", "te"})
_NAME = re.compile(r"[0-9a-z_.-]+")
_VALUE = re.compile(r"[\x20-\x7e]*")
_SCHEMES = ("http", "https")


def address_from(call: HTTPCall) -> SplitResult:
    """Return the parsed address. Raises `UsageError` if a key would be sent unencrypted."""
    try:
        address = urlsplit(call.url)
        is_address = address.scheme in _SCHEMES and bool(address.hostname)
        _ = address.port
    except ValueError:
        address, is_address = urlsplit(""), False
    if not is_address:
        raise UsageError(f"expected an http or https address; got {address_of(call.url)}")
    is_near = is_this_machine(address.hostname or "")
    has_key = any(name.lower() not in SHOWN_HEADERS for name in call.headers)
    if address.scheme == "http" and has_key and not is_near:
        raise UsageError(
            f"{address_of(call.url)} is not on this machine, and the key would go there in clear:"
            " expected https"
        )
    return address


def target_of(address: SplitResult) -> str:
    """Return host and port in gRPC's notation."""
    host = address.hostname or ""
    port = address.port or (443 if address.scheme == "https" else 80)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def metadata_from(call: HTTPCall) -> list[tuple[str, str]]:
    """Return the headers as gRPC metadata. Raises `UsageError` for invalid values."""
    metadata: list[tuple[str, str]] = []
    for given, value in call.headers.items():
        name = given.lower()
        if name in _NOT_SENT:
            continue
        if not _NAME.fullmatch(name) or name.startswith("grpc-") or name.endswith("-bin"):
            raise UsageError(f"gRPC has no header {given!r}")
        # gRPC's own error would show the value, which may be a key.
        if not _VALUE.fullmatch(value):
            raise UsageError(f"the header {given} holds what gRPC cannot send: expected ASCII")
        metadata.append((name, value))
    return metadata


def message_from(call: HTTPCall) -> bytes:
    """Return the body as the published message type. Raises `UsageError` if it does not fit."""
    path = urlsplit(call.url).path
    # A gateway may add a path before it.
    kind = _REQUESTS.get("/".join(["", *path.split("/")[-2:]]))
    if kind is None:
        raise UsageError(f"no method {path}: there are {', '.join(_REQUESTS)}")
    try:
        message = json_format.Parse(call.body, kind())
        return bytes(message.SerializeToString())
    except (json_format.ParseError, ValueError) as error:
        told = secrets_of(call).hide(str(error))[:MAX_MESSAGE_CHARS]
    raise UsageError(f"the request is not a {kind.DESCRIPTOR.full_name}: {told}")


_REQUESTS: dict[str, Any] = {
    f"/{service.full_name}/{method.name}": GetMessageClass(method.input_type)
    for service in chat_pb2.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if method.server_streaming
}
