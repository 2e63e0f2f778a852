"""Encodes reasoning in the messages of chat requests: every provider has its own field for it."""

from __future__ import annotations

from headrace.encoders.chat.quirks import ChatRequestQuirks
from headrace.encoders.resend_rules import iterate_client_calls
from headrace.events import JSONObject
from headrace.messages import AssistantEntry, Part, ReasoningPart, RedactedPart, TextPart


def encode_reasoning(reply: AssistantEntry, is_ours: bool, rules: ChatRequestQuirks) -> JSONObject:
    """Return the fields that hold the reasoning of a reply. Reasoning of another model is left out;
    if the provider rejects a call without any, a placeholder is sent."""
    fields = _encode_own_reasoning(reply, rules) if is_ours else {}
    if fields or rules.blank_reasoning is None or rules.replays is None:
        return fields
    return {rules.replays: rules.blank_reasoning} if any(iterate_client_calls(reply)) else {}


def _encode_own_reasoning(reply: AssistantEntry, rules: ChatRequestQuirks) -> JSONObject:
    thoughts = [part for part in reply.parts if isinstance(part, ReasoningPart)]
    words = "".join(part.text for part in thoughts)
    match rules.replays:
        case "reasoning_details":
            return _encode_details(reply, words)
        case "thinking_parts" if words:
            return {
                "content": [
                    entry for part in reply.parts for entry in _encode_content_entries(part)
                ]
            }
        case "reasoning_text":
            seal = next((part.signature for part in reversed(thoughts) if part.signature), None)
            said = {"reasoning_text": words, "reasoning_opaque": seal}
            return {name: value for name, value in said.items() if value}
        case "reasoning_content" | "reasoning" if words:
            return {rules.replays: words}
        case _:
            return {}


def _encode_content_entries(part: Part) -> list[JSONObject]:
    """Encode a part as entries of a content array, with reasoning in its place."""
    match part:
        case ReasoningPart(text=str(text)) if text:
            return [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]
        case TextPart(text=str(text)) if text:
            return [{"type": "text", "text": text}]
        case _:
            return []


def _encode_details(reply: AssistantEntry, words: str) -> JSONObject:
    if any(_is_detail(part) for part in reply.parts):
        details = [
            _encode_detail(p) for p in reply.parts if isinstance(p, ReasoningPart | RedactedPart)
        ]
        return {"reasoning_details": details}
    return {"reasoning": words} if words else {}


def _is_detail(part: Part) -> bool:
    if isinstance(part, RedactedPart):
        return True
    return isinstance(part, ReasoningPart) and bool(part.provider_data or part.seals)


def _encode_detail(part: ReasoningPart | RedactedPart) -> JSONObject:
    """Return the entry of `reasoning_details` that a part came from."""
    if isinstance(part, RedactedPart):
        entry: JSONObject = {"type": "reasoning.encrypted", "data": part.data}
    elif part.kind == "summary":
        entry = {"type": "reasoning.summary", "summary": part.text}
    else:
        entry = {"type": "reasoning.text", "text": part.text}
    if isinstance(part, ReasoningPart) and part.signature:
        entry["signature"] = part.signature
    return entry | (part.provider_data or {}) | ({"id": part.item_id} if part.item_id else {})
