"""Middleware: ask before a tool runs, mask what must not be seen, and count the tokens."""

import os

from headrace import events as ev
from headrace.engine import Agent, Decision, Deny, Middleware, RunView, ToolCall


class Polite(Middleware):
    """Says no to some calls, and tells what a run has cost."""

    def before_tool(self, run: RunView, call: ToolCall) -> Decision:
        if "0" in str(call.args):
            return Deny("Not with zeros, please.")
        return None

    def rewrite_event(self, run: RunView, event: ev.Event) -> ev.Event:
        if isinstance(event, ev.TextDelta):
            return ev.TextDelta(event.part, event.text.replace("rehearsal", "little"))
        return event

    def on_run_end(self, run: RunView, event: ev.RunFinished | ev.RunFailed) -> None:
        print(f"[{run.model}: {event.usage.output_tokens} tokens]")


def calculator(expression: str) -> str:
    """Work out an arithmetic expression."""
    return "many"


agent = Agent(
    os.environ.get("HEADRACE_MODEL", "rehearsal:demo"),
    tools=[calculator],
    middleware=[Polite()],
)
for question in ("What is 12 * 34?", "What is 10 * 20?"):
    result = agent.complete(question)
    denied = [answer.is_error for turn in result.message.turns for answer in turn.results]
    print(question, "denied" if any(denied) else "allowed")
    print(result.text.splitlines()[0])
