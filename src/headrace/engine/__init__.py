"""The engine: agents, runs, tools, middleware, conversations."""

from headrace.engine.agent import Agent
from headrace.engine.cancellation import CancelToken
from headrace.engine.conversation.conversation import Conversation
from headrace.engine.conversation.summarizer import Summarize
from headrace.engine.history.compaction import Compactor, Truncate
from headrace.engine.input.requests import AlreadyAnswered
from headrace.engine.limits import RunLimits
from headrace.engine.middleware.approve import Approve
from headrace.engine.middleware.budget import Budget
from headrace.engine.middleware.middleware import (
    Allow,
    Ask,
    Decision,
    Deny,
    Middleware,
    RunView,
    ToolCall,
)
from headrace.engine.middleware.redaction.redaction import Redaction
from headrace.engine.middleware.tracing import JSONLinesTrace, RunSummary
from headrace.engine.nested.agent_tool import AgentTool
from headrace.engine.run import Run
from headrace.errors import InputRequired, Terminate
from headrace.messages import InputRequest
from headrace.secrets import API_KEYS, EMAIL, SecretPattern
from headrace.tools import ExternalTool, InputDenied, Tool, ToolContext, ToolReturn, tool
from headrace.turn.result import Result

__all__ = [
    "API_KEYS",
    "Agent",
    "AgentTool",
    "Allow",
    "AlreadyAnswered",
    "Approve",
    "Ask",
    "Budget",
    "CancelToken",
    "Compactor",
    "Conversation",
    "Decision",
    "Deny",
    "EMAIL",
    "ExternalTool",
    "InputDenied",
    "InputRequest",
    "InputRequired",
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
