"""Middleware: deny a call, hide an API key, limit what a run spends, and print its usage."""

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


class DiaryGuard(Middleware):
    """Denies calls that write a diary, and prints the steps and tokens of each run."""

    def before_tool(self, run: RunView, call: ToolCall) -> Decision:
        if "diary" in str(call.args).lower():
            return Deny("The diary is not for agents.")
        return None

    def on_run_end(self, run: RunView, event: ev.RunFinished | ev.RunFailed) -> None:
        print(f"  [{run.step + 1} steps, {event.usage.output_tokens} tokens]")


def notepad(title: str, content: str) -> str:
    """Save a note. (Its result leaks an API key, which Redaction hides.)"""
    return f"saved {title!r} with the key sk-demo-0123456789abcdef"


agent = Agent(
    os.environ.get("HEADRACE_MODEL", "rehearsal:demo"),
    tools=[notepad],
    middleware=[DiaryGuard(), Budget(max_tool_calls=5, max_tokens=100_000), Redaction()],
)
for question in ("Write a shopping list.", "Write a diary entry."):
    print(question)
    for turn in agent.complete(question).message.turns:
        for result in turn.results:
            (entry,) = result.content
            assert isinstance(entry, TextContent)
            print("  denied:" if result.is_error else "  done:", entry.text)
