"""What the tests know of each dialect, apart from the code that they test: when a turn has ended,
and which texts may be divided differently."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from tests.mutation.sample import DONE, Sample, Sent

_RESPONSES_ENDS = ("completed", "incomplete", "failed", "done", "cancelled")
_ANTHROPIC_TEXTS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}
_RESPONSES_TEXTS = (
    "response.output_text.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
    "response.refusal.delta",
    "response.function_call_arguments.delta",
)
# A path to the one text of a payload.
Path = tuple[str | int, ...]


def frames_to_end(sample: Sample) -> int:
    """Return after how many frames the provider has said how the turn ends."""
    if sample.dialect in ("chat", "gemini"):
        return _last_finish(sample.frames)
    ends = _ENDS[sample.dialect]
    found = (at for at, frame in enumerate(sample.frames, 1) if ends(frame.payload or {}))
    return next(found, len(sample.frames))


def text_path(dialect: str, payload: dict[str, Any]) -> Path | None:
    """Return where the text of a payload is that carries one piece of text and nothing else that
    would matter twice."""
    return _PATHS[dialect](payload)


def split_text(dialect: str, frame: Sent, at: float = 0.5) -> list[Sent]:
    """Divide the text of a frame between two frames, or return the frame alone."""
    payload = frame.payload
    path = None if payload is None else text_path(dialect, payload)
    if payload is None or path is None:
        return [frame]
    text = get_at(payload, path)
    cut = max(1, min(len(text) - 1, int(len(text) * at)))
    if len(text) < 2:
        return [frame]
    return [
        frame.with_payload(with_text(payload, path, text[:cut])),
        frame.with_payload(with_text(payload, path, text[cut:])),
    ]


def merge_texts(dialect: str, frames: Sequence[Sent]) -> list[Sent]:
    """Join the texts of neighboring frames that differ in nothing else."""
    merged: list[Sent] = []
    for frame in frames:
        joined = _join(dialect, merged[-1], frame) if merged else None
        if joined is None:
            merged.append(frame)
        else:
            merged[-1] = joined
    return merged


def get_at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def with_text(payload: dict[str, Any], path: Path, text: str) -> dict[str, Any]:
    """Return a copy of the payload with another text at this path."""
    changed = copy.deepcopy(payload)
    get_at(changed, path[:-1])[path[-1]] = text
    return changed


def _join(dialect: str, first: Sent, second: Sent) -> Sent | None:
    one, two = first.payload, second.payload
    if one is None or two is None:
        return None
    path, other = text_path(dialect, one), text_path(dialect, two)
    if path is None or path != other:
        return None
    text = get_at(one, path) + get_at(two, path)
    if _without_stamps(with_text(one, path, "")) != _without_stamps(with_text(two, path, "")):
        return None
    return second.with_payload(with_text(two, path, text))


def _without_stamps(payload: dict[str, Any]) -> dict[str, Any]:
    """Leave out what differs between any two frames and says nothing."""
    noise = ("sequence_number", "obfuscation", "created", "created_at", "p", "usage")
    return {key: value for key, value in payload.items() if key not in noise}


def _last_finish(frames: Sequence[Sent]) -> int:
    """Return after which frame each choice or candidate has had a finish reason."""
    finishes: dict[int, int] = {}
    for at, frame in enumerate(frames, 1):
        payload = frame.payload or {}
        for choice in payload.get("choices") or payload.get("candidates") or ():
            if choice.get("finish_reason") or choice.get("finishReason"):
                finishes.setdefault(choice.get("index") or 0, at)
    return max(finishes.values(), default=0)


def _ends_anthropic(payload: dict[str, Any]) -> bool:
    return bool((payload.get("delta") or {}).get("stop_reason")) or (
        payload.get("type") == "message_stop"
    )


def _ends_responses(payload: dict[str, Any]) -> bool:
    return str(payload.get("type")) in [f"response.{word}" for word in _RESPONSES_ENDS]


def _ends_ollama(payload: dict[str, Any]) -> bool:
    return payload.get("done") is True


def _ends_bedrock(payload: dict[str, Any]) -> bool:
    return "messageStop" in payload or "stopReason" in payload


def _ends_text(payload: dict[str, Any]) -> bool:
    lists = [payload.get(name) for name in ("outputs", "generations", "results")]
    entries = [payload, payload.get("details") or {}]
    entries += [entry for found in lists for entry in found or ()]
    names = ("stop_reason", "completionReason", "finish_reason")
    words = [entry.get(name) for entry in entries for name in names]
    return any(word and word != "not_finished" for word in words)


def _ends_cohere(payload: dict[str, Any]) -> bool:
    return payload.get("type") == "message-end" or payload.get("event_type") == "stream-end"


def _ends_interactions(payload: dict[str, Any]) -> bool:
    return payload.get("event_type") == "interaction.completed"


_ENDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "anthropic": _ends_anthropic,
    "responses": _ends_responses,
    "ollama": _ends_ollama,
    "bedrock": _ends_bedrock,
    "text": _ends_text,
    "cohere": _ends_cohere,
    "interactions": _ends_interactions,
    # Only the end of the bytes ends a stream of an agent.
    "bedrock-agent": lambda payload: False,
}
ENDLESS = ("bedrock-agent",)
"""Dialects in which a stream that was cut between two frames looks like a whole one."""


def _chat_path(payload: dict[str, Any]) -> Path | None:
    choices = payload.get("choices") or []
    if len(choices) != 1 or choices[0].get("finish_reason") or payload.get("usage"):
        return None
    delta = choices[0].get("delta") or {}
    if set(choices[0]) - {"index", "delta", "finish_reason", "logprobs"}:
        return None
    filled = {key for key, value in delta.items() if value and key != "role"}
    for name in ("content", "reasoning_content"):
        if filled == {name} and isinstance(delta[name], str):
            return ("choices", 0, "delta", name)
    if filled != {"tool_calls"} or len(delta["tool_calls"]) != 1:
        return None
    call = delta["tool_calls"][0]
    function = call.get("function") or {}
    # Whole calls without a name or id are told apart by their arguments.
    is_more = call.get("index") is not None and not call.get("id") and not function.get("name")
    if is_more and isinstance(function.get("arguments"), str) and function["arguments"]:
        return ("choices", 0, "delta", "tool_calls", 0, "function", "arguments")
    return None


def _anthropic_path(payload: dict[str, Any]) -> Path | None:
    delta = payload.get("delta") or {}
    name = _ANTHROPIC_TEXTS.get(delta.get("type", ""))
    if payload.get("type") != "content_block_delta" or name is None or not delta.get(name):
        return None
    return ("delta", name) if set(delta) == {"type", name} else None


def _responses_path(payload: dict[str, Any]) -> Path | None:
    is_text = payload.get("type") in _RESPONSES_TEXTS and isinstance(payload.get("delta"), str)
    return ("delta",) if is_text and payload["delta"] else None


def _gemini_path(payload: dict[str, Any]) -> Path | None:
    candidates = payload.get("candidates") or []
    if len(candidates) != 1 or set(candidates[0]) - {"index", "content"}:
        return None
    parts = (candidates[0].get("content") or {}).get("parts") or []
    if len(parts) != 1 or set(parts[0]) - {"text", "thought"} or not parts[0].get("text"):
        return None
    return ("candidates", 0, "content", "parts", 0, "text")


def _ollama_path(payload: dict[str, Any]) -> Path | None:
    message = payload.get("message") or {}
    filled = {key for key, value in message.items() if value and key != "role"}
    if payload.get("done") or len(filled) != 1 or not filled <= {"content", "thinking"}:
        return None
    return ("message", *filled)


def _bedrock_path(payload: dict[str, Any]) -> Path | None:
    event = payload.get("contentBlockDelta") or payload
    path: Path = ("contentBlockDelta",) if event is not payload else ()
    delta = event.get("delta") or {}
    if set(delta) == {"text"} and delta["text"]:
        return (*path, "delta", "text")
    if (
        set(delta) == {"toolUse"}
        and set(delta["toolUse"]) == {"input"}
        and delta["toolUse"]["input"]
    ):
        return (*path, "delta", "toolUse", "input")
    return None


def _text_path(payload: dict[str, Any]) -> Path | None:
    for name in ("completion", "generation", "outputText"):
        if payload.get(name) and not _ends_text(payload):
            return (name,)
    return None


def _cohere_path(payload: dict[str, Any]) -> Path | None:
    message = (payload.get("delta") or {}).get("message") or {}
    if payload.get("type") == "content-delta":
        content = message.get("content") or {}
        names = [name for name in ("text", "thinking") if content.get(name)]
        return ("delta", "message", "content", names[0]) if len(names) == 1 else None
    if payload.get("event_type") == "text-generation" and payload.get("text"):
        return ("text",)
    return None


def _interactions_path(payload: dict[str, Any]) -> Path | None:
    delta = payload.get("delta") or {}
    names = {"text": "text", "arguments_delta": "arguments"}
    name = names.get(delta.get("type", ""))
    return ("delta", name) if name and delta.get(name) else None


_PATHS: dict[str, Callable[[dict[str, Any]], Path | None]] = {
    "chat": _chat_path,
    "anthropic": _anthropic_path,
    "responses": _responses_path,
    "gemini": _gemini_path,
    "ollama": _ollama_path,
    "bedrock": _bedrock_path,
    "text": _text_path,
    "cohere": _cohere_path,
    "interactions": _interactions_path,
    "bedrock-agent": lambda payload: None,
}

__all__ = ["DONE", "ENDLESS", "frames_to_end", "get_at", "merge_texts", "split_text", "text_path"]
