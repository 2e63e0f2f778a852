"""The commands of `headrace`, one folder per command.

A folder has `arguments.py`, which declares the options and must be quick to import, and
`command.py`, whose `run(options)` does the work. To add a command, add its folder and a row here.
"""

COMMANDS = {
    "ask": "ask a model one question",
    "backup": "copy a data folder, also while its server runs",
    "chat": "chat with a model in the terminal",
    "config": "show the settings of a server, and where each comes from",
    "decode": "show recorded provider streams as events, messages or results",
    "doctor": "check the installation and say how to fix problems",
    "inspect": "show where the time of a run or a stream went",
    "mcp": "offer an agent as a tool of MCP clients, on standard input and output",
    "migrate": "copy a data folder into a PostgreSQL database that several servers share",
    "models": "list the models that a provider offers",
    "providers": "list the providers and which API keys are set",
    "record": "record the responses of a provider; API keys are never written",
    "replay": "replay a recorded stream or a stored run",
    "requests": "list and answer what the answers of a server wait for",
    "restore": "put a copy of `headrace backup` into a data folder",
    "serve": "serve an agent over HTTP, with a web UI",
    "token": "create, list, rotate and revoke access tokens for users of a server",
    "usage": "sum up the tokens and the cost of a server's answers",
    "user": "manage the people who sign in to a server, and export or delete their data",
}
"""The commands by name, with their help line."""
