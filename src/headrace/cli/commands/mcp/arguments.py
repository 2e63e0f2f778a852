"""Options of `headrace mcp`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_data, add_mcp, add_verbose

DESCRIPTION = """\
Offer an agent as a tool of MCP clients, such as editors and other agents. The client starts this
command and talks to it over standard input and output. The conversations of the data folder are
resources. A server that runs already offers the same at its address /mcp. With --tools and
--offer, the client can also use tools, prompts and resources directly, without asking the agent.
"""
EXAMPLES = """\
examples:
  headrace mcp
  headrace mcp agent.toml
  headrace mcp my_module:agent --data ./data
  headrace mcp -m anthropic:claude-sonnet-4-5
  headrace mcp my_module:agent --tools
  headrace mcp my_module:agent --offer my_module:offer

in the settings of a client:
  {"mcpServers": {"headrace": {"command": "headrace", "args": ["mcp", "agent.toml"]}}}
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "agent",
        nargs="?",
        metavar="AGENT",
        help="a TOML file that describes an agent, or module:name of your own Agent",
    )
    command.add_argument(
        "-m",
        "--model",
        metavar="PROVIDER:MODEL",
        help="the model that answers (default: rehearsal:demo)",
    )
    command.add_argument(
        "--tools",
        action="store_true",
        help="offer the functions that the agent has as tools, too",
    )
    command.add_argument(
        "--offer",
        metavar="MODULE:NAME",
        help="an MCPOffer of yours, with tools, prompts and resources",
    )
    add_mcp(command)
    add_data(command)
    add_verbose(command)
