"""Meanings of words that the code lists as literals, for the pages of the documentation.

A test fails if a word has no meaning here. Meanings of fields are docstrings in the code.
"""

from __future__ import annotations

from headrace.outcome import AbortKind, ErrorCategory, FinishWord
from headrace.phases.tracker import NoticeName
from headrace.status.reader import StatusSource

FINISH_WORDS: dict[FinishWord, str] = {
    "end_turn": "The model has finished its answer.",
    "tool_use": "The model waits for the results of its calls.",
    "max_tokens": "The limit on output tokens was reached.",
    "stop_sequence": "The model wrote a stop sequence of the request.",
    "content_filter": "A filter stopped the answer, or the model refused.",
    "context_full": "The context window is full.",
    "time_limit": "The provider's time limit for one answer was reached.",
    "paused": "The provider paused a long turn and expects another request to continue it.",
    "aborted": "The run was ended from outside the model; `kind` says how.",
    "other": "Any other word of the provider, in `detail`; empty if the stream had none.",
}
ABORT_KINDS: dict[AbortKind, str] = {
    "cancelled": "The run was cancelled.",
    "timeout": "The run took too long.",
    "terminated": "A hook or a tool ended the run.",
    "max_iterations": "The run reached its maximum number of steps.",
}
ERROR_CATEGORIES: dict[ErrorCategory, str] = {
    "auth": "The API key is missing, wrong or expired.",
    "permission": "The API key is valid, but has no access, or there is no credit left.",
    "rate_limit": "Too many requests or tokens, or the quota is used up.",
    "invalid_request": "The provider does not accept the request.",
    "not_found": "No such model, deployment or resource.",
    "context_overflow": "The request is longer than the context window of the model.",
    "content_filter": "A filter rejected the request or the answer.",
    "overloaded": "The provider is overloaded.",
    "server": "The provider had an internal error.",
    "timeout": "The provider took too long.",
    "network": "The connection could not be made, or broke.",
    "incomplete": "The stream ended without a finish reason.",
    "protocol": "The bytes break the format, or exceed a limit.",
    "storage": "A log or store could not be written.",
    "invalid_output": "The answer is not of the type that was asked for.",
    "interrupted": "The process was stopped; for a turn, also: its run was ended.",
    "unknown": "Code, type and status say none of these.",
}
FIELDS: dict[str, str] = {
    "call_id": "Id of the call, unique in its turn.",
    "duration": "Duration in whole seconds, rounded down.",
    "duration_ms": "Duration in milliseconds.",
    "output": "Number of the provider's output.",
    "timestamp": "Time of the record in milliseconds since the epoch.",
    "toolName": "Name of the tool.",
}
"""Fields that many structs share, for those that have no docstring of their own."""
APIS: dict[str, str] = {
    "anthropic": "Anthropic Messages",
    "anthropic-text": "Anthropic's legacy text completions",
    "bedrock-agent": "agents of AWS Bedrock",
    "bedrock-converse": "AWS Bedrock Converse",
    "bedrock-invoke": "models of AWS Bedrock in their own formats",
    "bedrock-invoke-anthropic": "Anthropic Messages in the framing of AWS",
    "cohere-v1": "Cohere chat, version 1",
    "cohere-v2": "Cohere chat, version 2",
    "error-only": "an error and nothing else",
    "gemini": "Gemini `streamGenerateContent`",
    "gemini-interactions": "Gemini Interactions",
    "hf-tgi": "text generation of Hugging Face",
    "ollama": "Ollama chat",
    "ollama-generate": "Ollama's text completions",
    "openai-assistants": "OpenAI Assistants",
    "openai-chat": "Chat Completions, OpenAI's and compatible ones",
    "openai-completions": "OpenAI's legacy text completions",
    "openai-responses": "OpenAI Responses, OpenAI's and compatible ones",
    "vllm-generate": "vLLM's own text completions",
    "watsonx": "IBM watsonx",
}
"""The APIs of the recorded streams."""
NOTICES: dict[NoticeName, tuple[str, str]] = {
    "phase_change": ("`PhaseChanged`", "when the status of reasoning or content changes"),
    "reasoning_start": ("", "before the first delta of reasoning of an output"),
    "reasoning_delta": ("the text", "with each delta"),
    "reasoning_complete": ("", "once per output that had reasoning; the mode decides when"),
    "content_start": ("", "before the first delta of text of an output"),
    "content_delta": ("the text", "with each delta"),
    "content_complete": ("", "once per output that had text; the mode decides when"),
    "client_call": (
        "`ToolCallFinished` or `ToolCallMalformed`",
        "when a call that the client must run is complete, or malformed",
    ),
    "provider_call": (
        "`ToolCallFinished` or `ToolCallMalformed`",
        "when a call that the provider runs is complete, or malformed",
    ),
    "citation": ("`CitationAdded`", "with each source"),
    "usage": ("`Usage`", "last, if the turn reports its usage"),
}
"""The value of each notice, and when it is sent."""
STATUS_SOURCES: dict[StatusSource, str] = {
    "tool": "a tool call, described by the tool's name and its main argument",
    "title": "a line that names what follows: bold, a numbered bold step, or a heading",
    "marker": "a marker that the model was asked to write; shown unchanged",
    "natural": "a sentence that announces what the model does",
}
STATUS_EXAMPLES: dict[StatusSource, str] = {
    "tool": '`web_search({"query": "tides"})`: *Searching the web: tides*',
    "title": "`**Weighing the options**`: *Weighing the options*",
    "marker": "`[STATUS: reading page 2]`: *reading page 2*",
    "natural": "“First, I'll check the third row.”: *Check the third row*",
}
ROUTES: dict[str, str] = {
    "POST /api/chat": "Ask a question and stream the answer. Takes a"
    " [`ChatRequest`](#chatrequest).",
    "GET /api/chat/{event_id}/stream": "Stream an answer, after the last frame received.",
    "POST /api/chat/{event_id}/cancel": "Cancel a run; what was written so far is kept. Returns a"
    " [`CancelResult`](#cancelresult).",
    "GET /api/requests": "List what the runs of the user wait for. Returns a"
    " [`WaitingRunList`](#waitingrunlist).",
    "GET /api/runs/{run_id}/timeline": "Read when a run did what. Returns a"
    " [`RunTimeline`](#runtimeline).",
    "GET /api/runs/{run_id}/requests": "List what a run waits for. Returns an"
    " [`InputRequestList`](#inputrequestlist).",
    "POST /api/runs/{run_id}/requests/{request_id}": "Answer a request; the first answer counts."
    " Takes an [`InputAnswer`](#inputanswer), returns an"
    " [`InputAnswerResult`](#inputanswerresult).",
    "POST /api/files": "Upload a file for a message; the body is its bytes. Returns a"
    " [`FileInfo`](#fileinfo).",
    "DELETE /api/files/{file_id}": "Delete a file that was not sent.",
    "GET /api/conversations/{conversation_id}/messages/{message_id}/attachments/{n}": "Read the"
    " bytes of an attachment of a message, counted from 0.",
    "GET /api/conversations": "List conversations, the newest first, or search. Returns a"
    " [`ConversationPage`](#conversationpage).",
    "GET /api/conversations/{conversation_id}": "Read a conversation. Returns a"
    " [`ConversationDetail`](#conversationdetail).",
    "PATCH /api/conversations/{conversation_id}": "Rename a conversation, or switch to another"
    " branch. Takes a [`ConversationUpdate`](#conversationupdate), returns a"
    " [`Conversation`](#conversation).",
    "DELETE /api/conversations/{conversation_id}": "Delete a conversation and its messages.",
    "GET /api/conversations/{conversation_id}/export": "Export a conversation. Returns a"
    " [`ConversationExport`](#conversationexport), or Markdown.",
    "GET /api/account": "Who the user is, how the request says so, and the user's settings."
    " 401 lists the ways to sign in.",
    "PATCH /api/account/settings": "Change some settings; null removes one. Returns all of them.",
    "POST /api/account/password": "Replace the password, and end all other sign-ins.",
    "GET /api/account/export": "Download everything that is stored of the user, as lines of JSON.",
    "DELETE /api/account/data": "Delete the conversations, files and settings of the user. The"
    " account stays.",
    "POST /api/sign-in": "Sign in with a name and a password; sets a cookie.",
    "POST /api/sign-out": "End the sign-in of this request, and its streams.",
    "GET /api/sign-ins": "The browsers in which the user is signed in.",
    "DELETE /api/sign-ins/{sign_in_id}": "End one of the user's sign-ins, and its streams.",
    "GET /api/models": "List the models. Returns a [`ModelList`](#modellist).",
    "GET /v1/models": "List what clients of OpenAI's and Anthropic's APIs can ask for, in the"
    " shape of either.",
    "GET /v1/models/{name}": "Describe one of them.",
    "POST /v1/chat/completions": "OpenAI's Chat Completions API.",
    "POST /v1/messages": "Anthropic's Messages API.",
    "POST /v1/messages/count_tokens": "The number of tokens of a request to the Messages API.",
    "POST /v1/responses": "OpenAI's Responses API, also in the background; see [the Responses"
    " API](../howto/responses-api.md).",
    "GET /v1/responses": "The Responses API over a WebSocket.",
    "POST /v1/responses/compact": "Replace a conversation by one item that stands for it.",
    "GET /v1/responses/{response_id}": "Read a stored response, or stream it from any event on.",
    "DELETE /v1/responses/{response_id}": "Delete a stored response and its conversation.",
    "POST /v1/responses/{response_id}/cancel": "Cancel a response that is being written.",
    "GET /v1/responses/{response_id}/input_items": "List what a response was asked with.",
    "POST /mcp": "Streamable HTTP of the Model Context Protocol; see [Offer agents to MCP"
    " clients](../howto/mcp-server.md).",
    "GET /mcp": "Notifications of a session, in revisions of the protocol that have sessions.",
    "DELETE /mcp": "End such a session.",
    "POST /api/ai-sdk/chat": "Send a chat of the Vercel AI SDK, and stream the answer; see"
    " [useChat](../howto/use-chat.md).",
    "GET /api/ai-sdk/chat/{chat_id}/stream": "Resume the answer that is being written in a chat of"
    " the AI SDK, or 204.",
    "POST /api/ai-sdk/chat/{chat_id}/stop": "Stop the answer that is being written in a chat of the"
    " AI SDK.",
    "GET /api/ai-sdk/chat/{chat_id}/messages": "List the newest messages of a chat as `UIMessage`s,"
    " 100 at most.",
    "POST /api/ag-ui": "Run an agent for an AG-UI client; see [AG-UI](../howto/ag-ui.md).",
    "POST /api/ag-ui/{thread_id}/stop": "Stop the run of a thread.",
    "GET /": "The web UI.",
    "GET /static/{path}": "Files of the web UI; `headrace.js` is the one to embed.",
    "GET /healthz": "Whether the process is alive.",
    "GET /readyz": "Whether requests are accepted: 200 or 503.",
    "GET /metrics": "Metrics for Prometheus.",
    "GET /openapi.json": "The OpenAPI document of the routes under `/api` and `/v1`.",
}
"""The routes of the server."""
HEADERS: dict[str, str] = {
    "Authorization": "`Bearer` and an access token, if the server requires one.",
    "x-api-key": "An access token, as clients of Anthropic's API send it.",
    "anthropic-beta": "For the Messages API: beta features, separated by commas.",
    "Content-Type": "`application/json` for every request with a body;"
    " `application/octet-stream` for `POST /api/files`.",
    "X-File-Name": "For `POST /api/files`: the name of the file, percent-encoded.",
    "Idempotency-Key": "For `POST /api/chat`: the same key gives the same run.",
    "Cookie": "The cookie of `POST /api/sign-in`. It counts only in requests of the server's own"
    " page.",
    "User-Agent": "For `POST /api/sign-in`: the browser, as `GET /api/sign-ins` shows it.",
    "Last-Event-ID": "For a stream: the id of the last frame received, in any protocol.",
}
"""The headers of a request."""
VARIABLES: dict[str, str] = {
    "COLORTERM": "`headrace doctor` checks it for the number of colors of the terminal.",
    "COLUMNS": "Width of a table that is printed to a pipe.",
    "HEADRACE_CONFIG": "File with settings of `headrace serve`, used without `--config`.",
    "HEADRACE_SERVE_NAME": "A setting of `headrace serve`, used without its option. NAME is that of"
    " the option in capitals and `_` for `-`, as in `HEADRACE_SERVE_MAX_RUNS`. Several"
    " values are separated by commas.",
    "HEADRACE_MODEL": "Default model of `headrace ask` and `headrace chat`, used without `-m`.",
    "HEADRACE_STORE": "Database that several servers share, used without `--store`.",
    "HEADRACE_LOG": "Valkey or Redis for live answers, used without `--log`.",
    "HEADRACE_MCP_NAME_TOKEN": "Access token of the MCP server with this name, in capitals and with"
    " `_` for `-`, if the option `--mcp` gives its URL.",
    "HEADRACE_TOKEN": "Access token that `headrace chat` sends to a server, used without"
    " `--token-file`.",
    "NO_COLOR": "Any value turns colors off.",
    "TERM": "`dumb` turns colors and animation off. Other values say how the terminal wraps lines.",
    "USER": "`headrace doctor` shows it in its advice about the owner of a folder.",
    "XDG_DATA_HOME": "Folder that contains the default data folder `headrace`, used without"
    " `--data`; `~/.local/share` by default.",
    "XTERM_VERSION": "Set by xterm, which does not rewrap lines.",
}
"""Environment variables, except API keys and addresses of providers."""
