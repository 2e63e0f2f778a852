"""Questions that the user asked while an answer was being written, and that follow it."""

from __future__ import annotations

import uuid

import msgspec

from headrace.content import TextContent
from headrace.encoders import Effort, Options, ToolSpec
from headrace.engine import Agent
from headrace.events import JSONObject
from headrace.messages import Message
from headrace.projections.openai_responses import ResponseProfile
from headrace.readers.openai_responses import read_tools
from headrace.server.runs.client.client_tool import ClientTool
from headrace.server.storage.store import InboxEntry, RunRow, RunStart, StoredMessage
from headrace.tools import ExternalTool, PinnedTool


class RunRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the caller asked for beside the question. It is stored with the run, so that another
    process can continue it."""

    door: str = "headrace"
    """The protocol of the client, for the table of usage."""
    quota_id: str | None = None
    """Id of the quota of the access token, which counts what the run uses."""
    effort: Effort | None = None
    instructions: str | None = None
    """Instructions beside those of the agent."""
    options: Options | None = None
    """Options that replace those of the agent."""
    client_tools: tuple[ToolSpec, ...] = ()
    """Tools that the client runs: a call ends the run."""
    provider_tools: tuple[JSONObject, ...] = ()
    """Tools that the provider runs, as a client of the Responses API has sent them."""
    external_tools: tuple[ToolSpec, ...] = ()
    """Tools that the client runs: a call suspends the run until the client has sent the result."""
    mcp_tools: tuple[PinnedTool, ...] | None = None
    """The tools of MCP servers as they were listed when the run began."""
    response: ResponseProfile | None = None
    """How the run is shown as a response of the Responses API."""

    def prepare(self, agent: Agent) -> Agent:
        """Return the agent as it was asked for. An external tool that has the name of one of the
        agent's tools is left out. Raises `UsageError` for a tool that is not valid."""
        if self == RunRequest(door=self.door, quota_id=self.quota_id):
            return agent
        options = self.options or Options()
        if self.effort is not None:
            options = msgspec.structs.replace(options, effort=self.effort)
        texts = [text for text in (agent.instructions, self.instructions) if text]
        return agent.replace(
            options=options,
            instructions="\n\n".join(texts) or None,
            tools=[
                *(ClientTool(spec) for spec in self.client_tools),
                *read_tools(list(self.provider_tools)).provider,
                *(
                    ExternalTool(
                        name=spec.name, description=spec.description, parameters=spec.parameters
                    )
                    for spec in self.external_tools
                    if spec.name not in agent.tools.names
                ),
            ],
        )


def read_run_request(run: RunRow | RunStart) -> RunRequest:
    """Return what the caller of a run asked for beside the question."""
    return _decode_request(run.request) if run.request else RunRequest()


def keep_tools(start: RunStart, pins: tuple[PinnedTool, ...]) -> RunStart:
    """Return the start of a run with the tools that MCP servers have listed for it."""
    request = msgspec.structs.replace(read_run_request(start), mcp_tools=pins)
    return msgspec.structs.replace(start, request=msgspec.json.encode(request).decode())


_decode_request = msgspec.json.Decoder(RunRequest).decode


def start_after(row: RunRow, entry: InboxEntry, now_ms: int) -> RunStart:
    """Return the start of the run that answers a question after another answer. It is the same
    run however often this is tried."""
    text = str(entry.body["text"])
    message = Message(role="user", content=(TextContent(text),), created_at_ms=now_ms)
    prompt = StoredMessage(
        id=f"msg_{uuid.uuid4().hex}",
        conversation_id=row.conversation_id,
        parent_id=row.message_id,
        message=message,
    )
    return RunStart(
        owner=row.owner,
        run_id=f"run_{uuid.uuid4().hex}",
        message_id=f"msg_{uuid.uuid4().hex}",
        model=row.model,
        now_ms=now_ms,
        fingerprint=entry.id,
        idempotency_key=f"inbox {entry.id}",
        conversation_id=row.conversation_id,
        parent_id=row.message_id,
        prompt=prompt,
        is_branch=True,
        request=_request_after(row, entry),
    )


def _request_after(row: RunRow, entry: InboxEntry) -> str | None:
    """Return the request of the run that answers a question after another answer. It counts for
    the access token of the question, which can be another one than that of the run before."""
    if "quota_id" not in entry.body:
        return row.request
    request = msgspec.structs.replace(read_run_request(row), quota_id=entry.body["quota_id"])
    return msgspec.json.encode(request).decode()
