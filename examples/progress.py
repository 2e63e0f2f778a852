"""Watch a run as it happens: reasoning, the progress of a tool, and the answer."""

import asyncio
import os
import sys

from headrace import Agent, TextContent, ToolContext
from headrace import events as ev

IS_TERMINAL = sys.stdout.isatty()


async def notepad(title: str, content: str, context: ToolContext) -> str:
    """Write something down, one paragraph after the other."""
    paragraphs = content.split("\n\n")
    for number, _ in enumerate(paragraphs, 1):
        await asyncio.sleep(0.2)
        context.progress(f"paragraph {number} of {len(paragraphs)}")
    return f"{title}: {len(content.split())} words"


def show(event: ev.Event) -> None:
    """Print one event as it arrives. Colors and moving lines are for terminals only."""
    match event:
        case ev.ReasoningDelta(text=text):
            write(f"\033[2m{text}\033[0m" if IS_TERMINAL else text)
        case ev.TextDelta(text=text):
            write(text)
        case ev.ReasoningFinished():
            write("\n\n")
        case ev.TextFinished():
            write("\n")
        case ev.ToolStarted(args=args):
            write(f"→ notepad: {args['title']}\n")
        case ev.ToolProgress(status=status):
            write(f"\r\033[K  {status}" if IS_TERMINAL else f"  {status}\n")
        case ev.ToolResult(content=[TextContent(text=text)]):
            write(f"\r\033[K← {text}\n\n" if IS_TERMINAL else f"← {text}\n\n")
        case _:
            pass


def write(text: str) -> None:
    print(text, end="", flush=True)


async def main() -> None:
    agent = Agent(os.environ.get("HEADRACE_MODEL", "rehearsal:demo"), tools=[notepad])
    async with agent.run("Write a short poem about water wheels.") as run:
        async for event in run:
            show(event)
    print(f"({run.result.finish}, {run.result.usage.output_tokens} tokens)")


asyncio.run(main())
