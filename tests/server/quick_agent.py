"""The rehearsal model without pauses, for servers in processes of their own:
`headrace serve tests.server.quick_agent:agent`."""

from __future__ import annotations

from headrace.engine import Agent
from headrace.rehearsal.model import rehearsal_transport
from headrace.tools.builtin import default_tools

agent = Agent(
    "openai:quick",
    transport=rehearsal_transport(pace_s=0),
    api_key="none",
    tools=default_tools(),
)
