"""Tools for testing code that uses Headrace: a scripted model, and an event loop with virtual time.

from headrace.testing import ScriptedTransport, call, say, think, turn

script = ScriptedTransport([turn(think("Let me see."), say("Hello!"))])
headrace.complete("vllm:any", "Hi", transport=script)
"""

from headrace.rehearsal.clock import Hang, TasksLeft, VirtualLoop, run_virtual
from headrace.rehearsal.request_reader import Heard, HeardMessage, HeardResult, HeardTool
from headrace.rehearsal.script import (
    Line,
    ScriptedTurn,
    approval,
    call,
    cut,
    error,
    finish,
    no_finish,
    provider_call,
    raw,
    redacted,
    refuse,
    say,
    stall,
    think,
    turn,
    usage,
    wait,
)
from headrace.rehearsal.transport import ScriptedTransport

__all__ = [
    "Hang",
    "Heard",
    "HeardMessage",
    "HeardResult",
    "HeardTool",
    "Line",
    "ScriptedTransport",
    "ScriptedTurn",
    "TasksLeft",
    "VirtualLoop",
    "approval",
    "call",
    "cut",
    "error",
    "finish",
    "no_finish",
    "provider_call",
    "raw",
    "redacted",
    "refuse",
    "run_virtual",
    "say",
    "stall",
    "think",
    "turn",
    "usage",
    "wait",
]
