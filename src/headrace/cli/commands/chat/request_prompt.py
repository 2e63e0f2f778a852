"""Asks the user for what a run waits for: the approval of a call, a text, a form or a result."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from headrace.cli.commands.chat.display.display import Display
from headrace.client import AsyncClient, ClientError
from headrace.projections.ux.frame import InputRequestedFrame

NOBODY = "nobody could be asked: the input of the terminal has ended"
"""The reason of a denial after the end of standard input."""
_CHOICES = "Allow? y: yes, n: no, e: edit the arguments, a: always in this answer › "
_CHOICES_OF_PROVIDER = "Allow? y: yes, n: no, a: always in this answer › "
_QUESTIONS = {"text": "Text › ", "form": "JSON › ", "result": "Result as JSON › "}
# A frame may arrive shortly before the server finds its request in the log.
_LOOKS, _PAUSE_S = 10, 0.1


class RequestPrompt:
    """Asks for one request at a time, and sends the answers to the server."""

    def __init__(self, client: AsyncClient, display: Display) -> None:
        self._client = client
        self._display = display

    async def is_open(self, request: InputRequestedFrame) -> bool:
        """Return whether nobody has answered the request yet. A stored stream has old ones."""
        for _ in range(_LOOKS):
            found = await self._client.requests(request.run_id)
            if any(one.request_id == request.request_id for one in found):
                return True
            await asyncio.sleep(_PAUSE_S)
        return False

    async def ask(self, request: InputRequestedFrame) -> None:
        """Show a request, read the answer and send it. An answer that the server refuses is asked
        for again. At the end of the input the request is denied.

        Raises `KeyboardInterrupt` for Ctrl-C.
        """
        self._display.request(request)
        answer: dict[str, Any]
        while True:
            try:
                answer = await self._read(request)
            except EOFError:
                self._display.note(f"Denied, because {NOBODY}.")
                answer = {"decision": "denied", "reason": NOBODY}
            try:
                await self._client.answer_request(request.run_id, request.request_id, **answer)
            except ClientError as error:
                self._display.complain(error.message)
                if error.code == "bad_value":
                    continue
            return

    async def _read(self, request: InputRequestedFrame) -> dict[str, Any]:
        if request.kind == "approval":
            return await self._read_approval(request)
        question = _QUESTIONS[request.kind]
        if request.kind == "text":
            return {"value": await self._display.ask(question)}
        return {"value": await self._read_json(question)}

    async def _read_approval(self, request: InputRequestedFrame) -> dict[str, Any]:
        # The provider takes no other arguments for a call that it runs.
        is_editable = request.server is None
        choices = _CHOICES if is_editable else _CHOICES_OF_PROVIDER
        while True:
            choice = (await self._display.ask(choices)).strip().lower()
            match choice:
                case "y" | "yes":
                    return {}
                case "a" | "always":
                    return {"is_always": True}
                case "n" | "no":
                    return {"decision": "denied", "reason": await self._read_reason()}
                case "e" | "edit" if is_editable:
                    args = msgspec.json.encode(request.args).decode()
                    return {"value": await self._read_json("Arguments › ", args)}
                case _:
                    keys = "y, n, e or a" if is_editable else "y, n or a"
                    self._display.note(f"Type {keys}, and press Enter.")

    async def _read_reason(self) -> str | None:
        try:
            return (await self._display.ask("Reason, or Enter › ")).strip() or None
        except EOFError:
            return None

    async def _read_json(self, question: str, default: str = "") -> Any:
        while True:
            default = await self._display.ask(question, default)
            try:
                return msgspec.json.decode(default)
            except msgspec.DecodeError as error:
                self._display.complain(f"This is no valid JSON: {error}.")
