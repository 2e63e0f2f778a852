"""Encodes requests of Ollama's generate endpoint, which continues one prompt."""

from __future__ import annotations

from headrace import messages as msg
from headrace.content import Content
from headrace.encoders.history_encoder import collect_instructions
from headrace.encoders.ollama.request import encode_images, encode_settings, refuse_other_media
from headrace.encoders.request import Request
from headrace.encoders.text_content import drop_empty_texts, find_images, to_text
from headrace.errors import UsageError
from headrace.events import JSONObject


def encode_ollama_generate(request: Request) -> JSONObject:
    """Encode the body of `POST /api/generate`.

    Raises `UsageError` for tools and for a conversation with replies, which only the chat endpoint
    takes.
    """
    if request.tools or request.tool_choice is not None:
        raise _refuse("tools")
    content = _collect_prompt(request)
    images = find_images(content)
    body: JSONObject = {
        "model": request.model,
        "prompt": to_text([entry for entry in content if entry not in images]),
        "stream": True,
    }
    if instructions := collect_instructions(request):
        body["system"] = "\n\n".join(instructions)
    return body | encode_images(content) | encode_settings(request.options)


def _collect_prompt(request: Request) -> list[Content]:
    """Return what the user said. Several messages in a row are one prompt."""
    content: list[Content] = []
    for entry in msg.history(request.messages):
        if not isinstance(entry, msg.PromptEntry):
            raise _refuse("conversations")
        if entry.role == "user":
            content += drop_empty_texts(entry.content)
    refuse_other_media(content)
    return content


def _refuse(what: str) -> UsageError:
    return UsageError(f"the generate endpoint of Ollama takes one prompt: use ollama: for {what}")
