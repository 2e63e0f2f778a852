"""The chat loop: reads input, asks, shows answers and runs slash commands.

It does not depend on the terminal or on where answers come from.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headrace.cli.commands.chat import offers
from headrace.cli.commands.chat.advice import advice_of
from headrace.cli.commands.chat.display.display import Display
from headrace.cli.commands.chat.request_prompt import RequestPrompt
from headrace.cli.commands.chat.slash_command import Order, help_rows, order_from
from headrace.cli.commands.chat.step import Thought, Tool, stored_steps
from headrace.cli.commands.chat.transcript import (
    LISTED_AT_ONCE,
    answer_text,
    format_list,
    markdown,
    sources,
)
from headrace.cli.commands.chat.watcher import LEFT, Interrupts, Leave, Watcher
from headrace.cli.commands.chat.wording import count, duration
from headrace.cli.option import EFFORTS
from headrace.cli.terminal import safe_text
from headrace.cli.terminal.event_text import format_cost
from headrace.cli.terminal.safe_text import one_line, safe
from headrace.client import AsyncAnswer, AsyncClient, ClientError
from headrace.encoders import Effort
from headrace.errors import HeadraceError
from headrace.projections.ux import MessageEvent
from headrace.projections.ux.frame import EndFrame, MessageError, MessageFinal
from headrace.server.api import ModelInfo
from headrace.server.storage.store import Conversation

if TYPE_CHECKING:
    from headrace.mcp import MCP


MAX_COPIED_CHARS = 70_000
"""Longest text that terminals take for the clipboard."""


class Models(Protocol):
    """The model that answers if the chat is not connected to a server."""

    def choose(self, name: str) -> None:
        """Switch to another model. Raises `UsageError` if there is none of that name."""
        ...

    def sources(self) -> Sequence[MCP]:
        """Return the MCP servers of the agent."""
        ...


class Chat:
    """One chat, over any number of conversations."""

    def __init__(
        self,
        client: AsyncClient,
        display: Display,
        models: Models,
        interrupts: Interrupts,
        watcher: Watcher,
    ) -> None:
        self._client = client
        self._display = display
        self._models = models
        self._interrupts = interrupts
        self._watcher = watcher
        self.effort: Effort | None = None
        self._model: str | None = None
        self._conversation_id: str | None = None
        self._leaf_id: str | None = None
        self._question_id: str | None = None
        self._event: MessageEvent | None = None
        self._attached: list[str] = []
        self._quoted: list[str] = []
        self.has_failed = False
        """Whether something was not answered, or not done."""

    # -- reading

    async def talk(self) -> int:
        """Read and answer until the user quits or the input ends."""
        try:
            while True:
                await self.take(await self._read())
        except Leave as leave:
            return leave.code
        except EOFError:
            return 0

    async def _read(self) -> str:
        while True:
            try:
                text = await self._display.read()
            except KeyboardInterrupt:
                if self._interrupts.press(is_idle=True):
                    raise Leave(LEFT) from None
                self._display.note("Press Ctrl-C again to quit, or type /quit.")
                continue
            self._interrupts.reset()
            if text.strip():
                return text

    async def take(self, text: str) -> None:
        """Handle a message or a slash command. Errors are shown, and the chat goes on."""
        order = order_from(text)
        try:
            if order is None:
                await self.ask(text)
            else:
                await self._obey(order)
        except (HeadraceError, OSError) as error:
            self.has_failed = True
            self._display.complain(error_text(error))

    # -- asking

    async def ask(self, text: str) -> None:
        """Ask, and show the answer."""
        attached, self._attached = tuple(self._attached), []
        quoted, self._quoted = self._quoted, []
        text = "\n\n".join([*quoted, text])
        await self._answer(
            self._client.ask(
                text,
                conversation_id=self._conversation_id,
                parent_id=self._leaf_id,
                model=self._model,
                effort=self.effort,
                attachments=attached,
            )
        )

    async def attach(self, path: str) -> None:
        """Upload a file for the next message; without a path, forget those that were uploaded."""
        if not path:
            self._attached.clear()
            self._display.note("Nothing is attached.")
            return
        info = await self._client.upload(Path(path).expanduser())
        self._attached.append(info.id)
        self._display.note(f"{info.name} ({info.media_type}) goes with the next message.")

    async def _retry(self, argument: str) -> None:
        if self._question_id is None:
            self._display.note("There is no answer to regenerate yet.")
            return
        await self._answer(
            self._client.ask(
                parent_id=self._question_id, model=self._model, effort=self.effort, is_branch=True
            )
        )

    async def _answer(self, asked: AbstractAsyncContextManager[AsyncAnswer]) -> None:
        prompt = RequestPrompt(self._client, self._display)
        end = await self._watcher.watch(asked, self._display.answer(), self._begin, prompt)
        if not isinstance(end, MessageFinal):
            # The next message may depend on an answer that is not there.
            self._display.withdraw()
        if end is None:
            self._display.note("Stopped before the question was sent.")
        else:
            self._tell_end(end)
            await self._mark_read()

    def _begin(self, answer: AsyncAnswer) -> None:
        self._conversation_id = answer.conversation_id
        self._question_id = answer.question_id
        self._leaf_id = answer.event_id

    async def _mark_read(self) -> None:
        """Tell the page that the answer was shown here."""
        if self._conversation_id is None:
            return
        # It is only a mark: an answer that was shown is not a failure for it.
        with suppress(ClientError):
            await self._client.mark_read(self._conversation_id)

    def _tell_end(self, end: EndFrame) -> None:
        event = self._event = end.event
        is_unsaved = isinstance(end, MessageError) and event.error is None
        if is_unsaved:
            self._leaf_id = self._question_id
        advice = advice_of(event, is_unsaved=is_unsaved)
        if not event.segments and advice is None:
            self._display.note("The answer is empty.")
        if found := sources(event):
            self._display.note("\n".join(found))
        if advice is not None:
            self.has_failed = self.has_failed or advice.is_error
            self._display.advise(advice)
        elif cost := _cost(event):
            self._display.foot(cost)

    # -- commands

    async def _obey(self, order: Order) -> None:
        acts: dict[str, Callable[[str], Awaitable[None]]] = {
            "help": self._help,
            "model": self._choose,
            "effort": self._think,
            "reasoning": self._reasoning,
            "tools": self._tools,
            "retry": self._retry,
            "attach": self.attach,
            "prompts": self._list_prompts,
            "prompt": self._ask_prompt,
            "resources": self._list_resources,
            "resource": self._add_resource,
            "copy": self._copy,
            "new": self._new,
            "list": self._list,
            "open": self.open,
            "delete": self._delete,
            "save": self._save,
            "quit": self._quit,
            "exit": self._quit,
        }
        act = acts.get(order.name)
        if act is None:
            self._display.complain(f"There is no /{order.name}. /help lists the commands.")
            return
        await act(order.argument)

    async def _help(self, argument: str) -> None:
        self._display.table(help_rows())

    async def _quit(self, argument: str) -> None:
        raise Leave(0)

    async def _choose(self, argument: str) -> None:
        if argument:
            await self.choose(argument)
        models = await self._client.models()
        current = self.current(models)
        self._display.show([model_line(one, is_current=one is current) for one in models])

    async def choose(self, name: str) -> None:
        """Switch the model: by name if a server offers several, else by provider:model."""
        models = await self._client.models()
        if self._client.address:
            found = [one for one in models if name in (one.name, one.model)]
            if not found:
                names = [one.name for one in models]
                close = get_close_matches(name, names, 1)
                hint = f"did you mean {close[0]}?" if close else ", ".join(names)
                text = f"the server at {self._client.address} has no model {name!r}: {hint}"
                raise ClientError(422, "unknown_model", text)
            self._model = found[0].name
        else:
            self._models.choose(name)

    def current(self, models: Sequence[ModelInfo]) -> ModelInfo:
        """Name of the model that answers."""
        return next((one for one in models if one.name == self._model), models[0])

    async def _think(self, argument: str) -> None:
        if argument == "auto":
            self.effort = None
        elif argument:
            efforts: dict[str, Effort] = {level: level for level in EFFORTS}
            if argument not in efforts:
                known = ", ".join(efforts)
                self._display.complain(f"There is no effort {argument}: {known}, or auto.")
                return
            self.effort = efforts[argument]
        self._display.note(f"Effort: {self.effort or 'default'}.")

    async def _reasoning(self, argument: str) -> None:
        if argument in ("on", "off"):
            self._display.shows_reasoning = argument == "on"
            self._display.note(f"Reasoning is {'shown' if argument == 'on' else 'not shown'} live.")
            return
        steps = [] if self._event is None else stored_steps(self._event.segments)
        thoughts = [step for step in steps if not isinstance(step, Tool)]
        if not any(isinstance(step, Thought) and step.text for step in thoughts):
            self._display.note("There is no reasoning to show.")
            return
        self._display.steps(thoughts)

    async def _tools(self, argument: str) -> None:
        models = await self._client.models()
        names = self.current(models).tools
        told = f"The model may use {', '.join(names)}." if names else "The model has no tools."
        self._display.note(told)
        steps = [] if self._event is None else stored_steps(self._event.segments)
        self._display.steps([step for step in steps if isinstance(step, Tool)])

    async def _copy(self, argument: str) -> None:
        text = "" if self._event is None else answer_text(self._event)
        if not text:
            self._display.note("There is no answer to copy yet.")
        elif len(text) > MAX_COPIED_CHARS:
            self._display.complain("The answer is too long for the clipboard: /save FILE saves it.")
        elif self._display.copy(text):
            self._display.note(f"Copied {count(len(text), 'character')}.")
        else:
            self._display.complain("Copying needs a terminal: /save FILE saves the conversation.")

    # -- MCP servers

    def _servers(self) -> Sequence[MCP]:
        return () if self._client.address else self._models.sources()

    async def _list_prompts(self, argument: str) -> None:
        self._show_offers(await offers.list_prompts(self._servers()))

    async def _ask_prompt(self, argument: str) -> None:
        await self.ask(await offers.fill_prompt(self._servers(), argument))

    async def _list_resources(self, argument: str) -> None:
        self._show_offers(await offers.list_resources(self._servers()))

    def _show_offers(self, rows: list[tuple[str, str]]) -> None:
        if rows:
            self._display.table(rows)
        else:
            self._display.note("The MCP servers offer none.")

    async def _add_resource(self, argument: str) -> None:
        self._quoted.append(await offers.read_resource(self._servers(), argument))
        self._display.note("The resource goes with the next message.")

    # -- conversations

    async def _new(self, argument: str) -> None:
        self._conversation_id = self._leaf_id = self._question_id = self._event = None
        self._display.note("New conversation.")

    async def _list(self, argument: str) -> None:
        first = _number(argument or "1")
        if first is None:
            self._display.complain(f"{argument} is not a number: /list 21 starts at the 21st.")
            return
        # One more than shown tells whether there are more.
        found = await self._client.conversations(first + LISTED_AT_ONCE)
        if self._has(found, first):
            self._display.show(format_list(found, first, self._conversation_id))

    async def open(self, wanted: str) -> None:
        """Continue a conversation: by its number in the list, its id, or "" for the newest."""
        number = _number(wanted or "1")
        if number is None:
            await self._show(wanted)
            return
        found = await self._client.conversations(max(number, 1))
        if self._has(found, number):
            await self._show(found[number - 1].id)

    def _has(self, found: Sequence[Conversation], number: int) -> bool:
        if not found:
            self._display.note("There are no conversations yet.")
        elif not 0 < number <= len(found):
            self._display.complain(f"There is no number {number}: /list shows the conversations.")
        return 0 < number <= len(found)

    async def _show(self, conversation_id: str) -> None:
        whole = await self._client.conversation(conversation_id)
        branch = whole.branch
        questions = [one for one in branch if one.role == "user"]
        answer = branch[-1] if branch and branch[-1].event is not None else None
        self._conversation_id = conversation_id
        self._question_id = questions[-1].id if questions else None
        self._leaf_id = branch[-1].id if branch else None
        self._event = answer.event if answer is not None else None
        self._display.note(f"{safe(whole.conversation.title)} · {count(len(branch), 'message')}")
        self._display.remember([one.text for one in questions])
        if questions:
            self._display.past(questions[-1].text, self._event)
        live = [one for one in whole.live if one.parent_id == self._leaf_id]
        if live:
            await self._answer(self._client.watch(live[-1].event_id))

    async def _delete(self, argument: str) -> None:
        conversation_id = await self._find_id(argument)
        if conversation_id is None:
            return
        whole = await self._client.conversation(conversation_id)
        title = one_line(whole.conversation.title) or "this conversation"
        try:
            reply = await self._display.ask(f"Delete “{title}”? [y/N] › ")
        except (EOFError, KeyboardInterrupt):
            reply = ""
        if reply.strip().lower() not in ("y", "yes"):
            self._display.note("Nothing was deleted.")
            return
        await self._client.delete(conversation_id)
        self._display.forget([one.text for one in whole.messages if one.role == "user"])
        if conversation_id == self._conversation_id:
            self._conversation_id = self._leaf_id = self._question_id = self._event = None
        self._display.note("Deleted.")

    async def _find_id(self, argument: str) -> str | None:
        """Return the id of a conversation by its number in the list or its id; by default of the
        open one. None, with a remark, if there is none."""
        if not argument:
            if self._conversation_id is None:
                self._display.note("There is nothing to delete yet.")
            return self._conversation_id
        number = _number(argument)
        if number is None:
            return argument
        found = await self._client.conversations(max(number, 1))
        return found[number - 1].id if self._has(found, number) else None

    async def _save(self, argument: str) -> None:
        if not argument:
            self._display.complain("Name a file: /save FILE")
        elif self._conversation_id is None:
            self._display.note("There is nothing to save yet.")
        else:
            whole = await self._client.conversation(self._conversation_id)
            path = Path(argument).expanduser()
            # An existing file is never overwritten.
            with path.open("x", encoding="utf-8") as file:
                file.write(markdown(whole))
            self._display.note(f"Saved to {path}.")


def model_line(model: ModelInfo, *, is_current: bool) -> str:
    """Format a model for the list: `* rehearsal:demo`, with a note if it is a stand-in."""
    name = model.model if model.name == "default" else f"{model.name}: {model.model}"
    stand_in = " · a stand-in, no language model" if model.is_rehearsal else ""
    return f"{'*' if is_current else ' '} {one_line(name)}{stand_in}"


def _number(text: str) -> int | None:
    """Parse a number of the list; None for anything else, such as an id."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def error_text(error: Exception) -> str:
    """Return what an error says, and for a missing access token how to give one."""
    if isinstance(error, ClientError) and error.status == 401:
        return (
            f"{error}. Put an access token into HEADRACE_TOKEN, or name its file with --token-file"
            " (headrace token create makes one)"
        )
    return safe_text.error_text(error)


def _cost(event: MessageEvent) -> str:
    usage = event.usage
    tokens = None if usage is None else usage.total_tokens or usage.output_tokens
    told = [count(tokens, "token")] if tokens else []
    told += [format_cost(usage)] if usage is not None and usage.cost is not None else []
    told += [duration(event.duration_ms)] if event.duration_ms is not None else []
    return " · ".join(told)
