"""A conversation that is saved as JSON, restored, and shortened when it grows."""

import os
import tempfile
from pathlib import Path
from textwrap import shorten

from headrace import Agent, Conversation, Truncate
from headrace import events as ev

agent = Agent(os.environ.get("HEADRACE_MODEL", "rehearsal:demo"))


def ask(conversation: Conversation, question: str) -> None:
    """Ask a question, and print when the history is shortened."""
    print(f"> {question}")
    with conversation.run(question) as run:
        for event in run:
            if isinstance(event, ev.HistoryCompacted):
                before, after = event.before, event.after
                print(f"  [{event.strategy}: {before} messages became {after}]")
    print(f"  {shorten(run.result.text, 80, placeholder=' …')}")


conversation = Conversation(agent)
ask(conversation, "Hello!")
ask(conversation, "What is 12 * 34?")

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "conversation.json"
    file.write_bytes(conversation.snapshot())
    # Another process may restore it. The file does not contain the agent.
    restored = Conversation.restore(agent, file.read_bytes(), compactor=Truncate(max_messages=4))

print(f"[{len(restored.messages)} messages were restored]")
ask(restored, "Thank you!")
ask(restored, "Who are you?")
