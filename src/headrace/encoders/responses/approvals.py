"""Encodes answers to the approval requests of Responses."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.events import JSONObject
from headrace.messages import ApprovalAnswer
from headrace.wire.json.value import as_object


def find_approval_requests(items: Iterable[object]) -> frozenset[str]:
    """Return the ids of the items that ask for an approval."""
    objects = map(as_object, items)
    return frozenset(item["id"] for item in objects if item.get("type") == "mcp_approval_request")


def encode_approval(answer: ApprovalAnswer) -> JSONObject:
    """Encode the answer to a request."""
    item: JSONObject = {
        "type": "mcp_approval_response",
        "approval_request_id": answer.item_id,
        "approve": answer.is_approved,
    }
    return item | ({"reason": answer.reason} if answer.reason else {})
