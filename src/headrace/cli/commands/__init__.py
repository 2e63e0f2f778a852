"""The commands of `headrace`, one folder per command.

A folder has `arguments.py`, which declares the options and must be quick to import, and
`command.py`, whose `run(options)` does the work. To add a command, add its folder and a row here.
"""

COMMANDS = {
    "ask": "ask a model one question",
    "chat": "chat with a model in the terminal",
    "decode": "show recorded provider streams as events, messages or results",
    "doctor": "check the installation and say how to fix problems",
    "inspect": "show where the time of a run or a stream went",
    "migrate": "copy a data folder into a PostgreSQL database that several servers share",
    "models": "list the models that a provider offers",
    "providers": "list the providers and which API keys are set",
    "record": "record the responses of a provider; API keys are never written",
    "replay": "replay a recorded stream or a stored run",
    "requests": "list and answer what the answers of a server wait for",
    "serve": "serve an agent over HTTP, with a web UI",
    "token": "create, list and revoke access tokens for users of a server",
    "usage": "sum up the tokens and the cost of a server's answers",
}
"""The commands by name, with their help line."""
