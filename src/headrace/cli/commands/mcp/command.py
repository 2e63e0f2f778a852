"""Runs `headrace mcp`: an agent as a tool of MCP clients, on standard input and output."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import sys
from argparse import Namespace
from importlib import import_module
from typing import TYPE_CHECKING

from headrace.cli.option import data_folder
from headrace.cli.terminal.log_output import print_log
from headrace.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.engine import Agent
    from headrace.mcp import MCPOffer


def run(options: Namespace) -> int:
    """Serve until the client closes standard input."""
    if importlib.util.find_spec("mcp") is None:
        raise UsageError("MCP needs an extra: pip install 'headrace[mcp,server]'")
    from headrace.server.agent_config import load_agent
    from headrace.server.mcp_config import read_option, remember_tools

    sys.path.insert(0, os.getcwd())
    data = data_folder(options.data)
    mcp_options = remember_tools(data)
    sources = [read_option(text, mcp_options) for text in options.mcp]
    agent = load_agent(options.agent, options.model, sources=sources, mcp_options=mcp_options)
    for source in agent.tools.sources:
        # The service is closed after each request; the servers go on.
        source.hold()
    agent.check()
    print_log(logging.DEBUG if options.verbose else logging.WARNING)
    asyncio.run(_serve(agent, data, _load_offer(agent, options.offer, has_tools=options.tools)))
    return 0


def _load_offer(agent: Agent, where: str | None, *, has_tools: bool) -> MCPOffer:
    """Return the offer `module:name`, with the functions of the agent if they are wanted. Raises
    `UsageError` if it cannot be loaded."""
    from headrace.engine.nested.agent_tool import AgentTool
    from headrace.mcp import MCPOffer
    from headrace.tools import Tool

    offer = MCPOffer()
    if where is not None:
        module, _, name = where.partition(":")
        try:
            offer = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(f"{where}: {error}") from None
        if not isinstance(offer, MCPOffer):
            raise UsageError(f"{where} is not a headrace.mcp.MCPOffer")
    if has_tools:
        for tool in agent.tools.all:
            if isinstance(tool, Tool) and not isinstance(tool, AgentTool):
                offer.tools.setdefault(tool.name, tool)
    return offer


async def _serve(agent: Agent, data: Path, offer: MCPOffer) -> None:
    from mcp.server.stdio import stdio_server

    from headrace.cli.commands.mcp.folder_service import FolderService
    from headrace.server.http.doors.mcp.agent_server import create_server
    from headrace.server.storage.access_tokens import LOCAL_USER

    service = FolderService(agent, data)
    server = create_server({"default": agent}, service.use, LOCAL_USER, offer)
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
