"""Watch a run: reasoning, a tool that tells how far it is, and the answer, as they come."""

import asyncio
import os

from headrace import events as ev
from headrace.engine import Agent, ToolContext


async def notepad(title: str, content: str, context: ToolContext) -> str:
    """Write something down."""
    words = content.split()
    for place, _ in enumerate(words, 1):
        context.progress(f"word {place} of {len(words)}", progress=place / len(words))
        await asyncio.sleep(0.01)
    return f"{title}: {len(words)} words written"


async def main() -> None:
    agent = Agent(os.environ.get("HEADRACE_MODEL", "rehearsal:demo"), tools=[notepad])
    async with agent.run("Write a short poem about water wheels.") as run:
        async for record in run:
            match record.event:
                case ev.ReasoningDelta(text=text):
                    print(f"\033[2m{text}\033[0m", end="", flush=True)
                case ev.ToolStarted(args=args):
                    print(f"\n→ notepad({args['title']!r})")
                case ev.ToolProgress(status=status):
                    print(f"\r  {status}  ", end="", flush=True)
                case ev.ToolResult(content=content):
                    print(f"\n← {content[0].text}\n")
                case ev.TextDelta(text=text):
                    print(text, end="", flush=True)
                case _:
                    pass
    print(f"\n({run.result.finish}, {run.result.usage.output_tokens} tokens)")


asyncio.run(main())
