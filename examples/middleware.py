"""Middleware: refuse a call, hide a key, bound what a run spends, and say what it took."""

import os

from headrace import (
    Agent,
    Budget,
    Decision,
    Deny,
    Middleware,
    Redaction,
    RunView,
    TextContent,
    ToolCall,
)
from headrace import events as ev


class Doorkeeper(Middleware):
    """Lets nobody write a diary, and tells what a run has taken."""

    def before_tool(self, run: RunView, call: ToolCall) -> Decision:
        if "diary" in str(call.args).lower():
            return Deny("The diary is not for agents.")
        return None

    def on_run_end(self, run: RunView, event: ev.RunFinished | ev.RunFailed) -> None:
        print(f"  [{run.step + 1} steps, {event.usage.output_tokens} tokens]")


def notepad(title: str, content: str) -> str:
    """Keep a note. (It is careless: its result holds the key of the note pad.)"""
    return f"kept {title!r} with the key sk-demo-0123456789abcdef"


agent = Agent(
    os.environ.get("HEADRACE_MODEL", "rehearsal:demo"),
    tools=[notepad],
    middleware=[Doorkeeper(), Budget(max_tool_calls=5, max_tokens=100_000), Redaction()],
)
for question in ("Write a shopping list.", "Write a diary entry."):
    print(question)
    for turn in agent.complete(question).message.turns:
        for answer in turn.results:
            (told,) = answer.content
            assert isinstance(told, TextContent)
            print("  refused:" if answer.is_error else "  done:", told.text)
