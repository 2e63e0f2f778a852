"""The server that the MCP conformance suite examines: agents on scripted models, and an offer.

`python -m tests.conformance.mcp.server FOLDER` prints its address. The names are those that
the suite calls.
"""

from __future__ import annotations

import sys

import msgspec

from headrace import Agent, ReplayTransport
from headrace.rehearsal.script import Line, call, refuse, say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server import create_app
from headrace.server.listener import open_listener
from headrace.server.process import serve_process
from headrace.tools.builtin import default_tools
from headrace.transport.retry import NEVER
from tests.conformance.mcp.offer import OFFER, PIXEL, SOUND

MANY = 50


def create_agent(*turns: list[Line]) -> Agent:
    """Return an agent whose model says the same whenever it is asked."""
    script = ScriptedTransport([turn(*lines) for _ in range(MANY) for lines in turns])
    return Agent(
        "openai-chat:gpt-5",
        description="An agent of the conformance tests.",
        instructions="Say what the script says.",
        tools=default_tools(),
        transport=script,
        api_key="none",
        policy=NEVER,
    )


def create_media_agent(media_type: str, data: str) -> Agent:
    """Return an agent that answers with a file, as Gemini does."""
    inline = {"inlineData": {"mimeType": media_type, "data": data}}
    content = {"role": "model", "parts": [inline]}
    body = {"candidates": [{"content": content, "finishReason": "STOP"}]}
    return Agent(
        "gemini:gemini-x",
        instructions="Show it.",
        transport=ReplayTransport([b"data: " + msgspec.json.encode(body) + b"\n\n"]),
        api_key="none",
    )


AGENTS = {
    "test_simple_text": create_agent([say("This is a simple text response for testing.")]),
    "test_error_handling": create_agent([refuse(500, "This agent fails.")]),
    # Each tool has a phrase that says what the agent is doing.
    "test_tool_with_progress": create_agent(
        [call("clock")],
        [call("calculator", expression="1 + 1")],
        [call("notepad", action="list")],
        [say("Done.")],
    ),
    "test_image_content": create_media_agent("image/png", PIXEL),
    "test_audio_content": create_media_agent("audio/wav", SOUND),
}

if __name__ == "__main__":
    listener = open_listener("127.0.0.1", 0)
    port = listener.getsockname()[1]
    app = create_app(AGENTS, data=sys.argv[1], mcp_offer=OFFER)

    def tell() -> None:
        sys.stdout.write(f"http://127.0.0.1:{port}/mcp\n")
        sys.stdout.flush()

    serve_process(app, listener, ready=tell)
