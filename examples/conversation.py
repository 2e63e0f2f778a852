"""A conversation that is kept, put on a shelf as JSON, taken up again, and made shorter when
it grows."""

import os
import tempfile
from pathlib import Path
from textwrap import shorten

from headrace import events as ev
from headrace.engine import Agent, Conversation, Truncate

agent = Agent(os.environ.get("HEADRACE_MODEL", "rehearsal:demo"))


def ask(conversation: Conversation, question: str) -> None:
    """Ask, and show what becomes of the history on the way."""
    print(f"> {question}")
    with conversation.run(question) as run:
        for record in run:
            if isinstance(record.event, ev.HistoryCompacted):
                before, after = record.event.before, record.event.after
                print(f"  [{record.event.strategy}: {before} messages became {after}]")
    print(f"  {shorten(run.result.text, 80, placeholder=' …')}")


conversation = Conversation(agent)
ask(conversation, "Hello!")
ask(conversation, "What is 12 * 34?")

with tempfile.TemporaryDirectory() as folder:
    shelf = Path(folder) / "conversation.json"
    shelf.write_bytes(conversation.snapshot())
    # Another process, another day. The agent is not in the file: bring your own.
    restored = Conversation.restore(agent, shelf.read_bytes(), compactor=Truncate(max_messages=4))

print(f"[{len(restored.messages)} messages are back from the shelf]")
ask(restored, "Thank you!")
ask(restored, "Who are you?")
