"""Plan with sub-agents, and ask before a file is written.

Without HEADRACE_MODEL, scripts take the place of the models.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from headrace import Agent, InputRequest, Run, TextContent, tool
from headrace import events as ev
from headrace.testing import ScriptedTransport, ScriptedTurn, call, say, turn

FOLDER = tempfile.TemporaryDirectory()
TIMETABLE = {"Oslo": "train at 8:05", "Bergen": "boat at 16:30"}


def agent_with(*script: ScriptedTurn, **options: Any) -> Agent:
    """Create an agent with the model of the environment, or with a scripted one."""
    model = os.environ.get("HEADRACE_MODEL")
    if model is not None:
        return Agent(model, **options)
    transport = ScriptedTransport(script, dialect="anthropic")
    return Agent("anthropic:scripted", transport=transport, api_key="-", **options)


def departures(towns: list[str]) -> str:
    """Look up departures from towns."""
    return ", ".join(f"{town}: {TIMETABLE.get(town, 'none')}" for town in towns)


@tool(needs_approval=True)
def write_file(name: str, text: str) -> str:
    """Write a text file."""
    (Path(FOLDER.name) / Path(name).name).write_text(text, "utf-8")
    return f"{len(text)} characters were written to {name}"


PLAN = "Leave Oslo by train at 8:05. Leave Bergen by boat at 16:30."
traveler = agent_with(
    turn(call("departures", towns=["Oslo", "Bergen"])),
    turn(say("Train from Oslo at 8:05, boat from Bergen at 16:30.")),
    instructions="Find connections.",
    tools=[departures],
)
critic = agent_with(
    turn(say("The plan is fine. There is time for lunch.")),
    instructions="Say in one sentence what is wrong with a plan.",
)
planner = agent_with(
    turn(call("find_connections", task="From Oslo to Bergen, and on by boat.")),
    turn(call("criticize", task=PLAN)),
    turn(call("write_file", name="plan.txt", text=PLAN)),
    turn(say("Your plan is in plan.txt. There is time for lunch.")),
    instructions="Plan the trip with your helpers, then write the plan to plan.txt.",
    tools=[
        traveler.as_tool("find_connections", "Find connections between towns."),
        critic.as_tool("criticize", "Criticize a plan."),
        write_file,
    ],
)


def answer(run: Run, request: InputRequest) -> None:
    """Ask at the terminal; without one, approve."""
    print(f"? {request.name} wants to write {request.args['name']}")
    if sys.stdin.isatty() and input("  Allow it? [y/n] ") != "y":
        run.answer(request.request_id, "denied", reason="The user said no.")
    else:
        run.answer(request.request_id)


with FOLDER, planner.run("Plan a day from Oslo to Bergen and out to sea.") as run:
    for record in run.records():
        indent = "  " * len(record.path)
        match record.event:
            case ev.ToolCallFinished(name=name):
                print(f"{indent}→ {name}")
            case ev.InputRequested():
                answer(run, run.requests[0])
            case ev.ToolResult(content=[TextContent(text=text)]):
                print(f"{indent}← {text}")
            case _:
                pass
    for file in Path(FOLDER.name).iterdir():
        print(f"{file.name}: {file.read_text('utf-8')}")
print(run.result.text)
