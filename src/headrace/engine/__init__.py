"""The engine: agents, runs, tools, middleware, conversations."""

from headrace.engine.agent import Agent
from headrace.engine.cancellation import CancelToken
from headrace.engine.conversation.conversation import Conversation
from headrace.engine.conversation.summarizer import Summarize
from headrace.engine.history.compaction import Compactor, Truncate
from headrace.engine.limits import RunLimits
from headrace.engine.middleware.budget import Budget
from headrace.engine.middleware.middleware import (
    Allow,
    Decision,
    Deny,
    Middleware,
    RunView,
    ToolCall,
)
from headrace.engine.middleware.redaction.redaction import Redaction
from headrace.engine.middleware.tracing import JSONLinesTrace, RunSummary
from headrace.engine.run import Run
from headrace.errors import Terminate
from headrace.secrets import API_KEYS, EMAIL, SecretPattern
from headrace.tools import Tool, ToolContext, ToolReturn, tool
from headrace.turn.result import Result

__all__ = [
    "API_KEYS",
    "Agent",
    "Allow",
    "Budget",
    "CancelToken",
    "Compactor",
    "Conversation",
    "Decision",
    "Deny",
    "EMAIL",
    "JSONLinesTrace",
    "Middleware",
    "Redaction",
    "Result",
    "Run",
    "RunLimits",
    "RunSummary",
    "RunView",
    "SecretPattern",
    "Summarize",
    "Terminate",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolReturn",
    "Truncate",
    "tool",
]
