"""Runs `headrace requests`: lists what the answers of a server wait for, and answers it."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

import msgspec

from headrace.cli.option import data_folder, read_access_token
from headrace.cli.terminal.safe_text import one_line
from headrace.client import Client, ClientError
from headrace.errors import UsageError
from headrace.messages import InputRequest
from headrace.server.api import InputRequestList
from headrace.server.storage.data_folder import find_holder


class _NotFound(Exception):
    """No request has the id that was given, or several have it."""


def run(options: Namespace) -> int:
    """List the requests, or answer one of them."""
    chosen = options.allow or options.deny
    if not chosen and (options.value or options.reason or options.always):
        print(
            "headrace requests: --value, --reason and --always need --allow or --deny",
            file=sys.stderr,
        )
        return 2
    try:
        with _open_client(options) as client:
            runs = client.waiting_runs()
            if chosen:
                return _answer(client, options, *_find(runs, chosen))
            _print_all(runs, is_json=options.json)
            return 0
    except UsageError as error:
        print(f"headrace requests: {error}", file=sys.stderr)
        return 2
    except (ClientError, _NotFound) as error:
        print(f"headrace requests: {error}", file=sys.stderr)
        return 1


def _open_client(options: Namespace) -> Client:
    url = options.url
    if not url:
        folder = data_folder(options.data)
        holder = find_holder(folder)
        url = None if holder is None else holder.address
        if not url:
            text = "start one with `headrace serve`, or give --url"
            raise UsageError(f"no server uses {folder}: {text}")
    return Client(url, access_token=read_access_token(options.token_file))


def _find(runs: list[InputRequestList], given: str) -> tuple[str, InputRequest]:
    """Return the request whose id begins with the given text, and the id of its run."""
    found = [
        (waiting.run_id, request)
        for waiting in runs
        for request in waiting.requests
        if request.request_id.startswith(given)
    ]
    if len(found) != 1:
        count = "no request has" if not found else f"{len(found)} requests have"
        raise _NotFound(f"{count} an id that begins with {given}")
    return found[0]


def _answer(client: Client, options: Namespace, run_id: str, request: InputRequest) -> int:
    result = client.answer_request(
        run_id,
        request.request_id,
        decision="accepted" if options.allow else "denied",
        value=_parse_value(request, options.value),
        is_always=options.always,
        reason=options.reason,
    )
    print(f"{result.decision}: {_describe(request)}")
    return 0


def _parse_value(request: InputRequest, text: str | None) -> Any:
    if text is None or request.kind == "text":
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise UsageError(f"--value is not JSON: {error}") from None


def _print_all(runs: list[InputRequestList], *, is_json: bool) -> None:
    for waiting in runs:
        for request in waiting.requests:
            if is_json:
                fields = {"run_id": waiting.run_id, **msgspec.to_builtins(request)}
                print(msgspec.json.encode(fields).decode())
            else:
                print(one_line(f"{request.request_id}  {request.kind:<8}  {_describe(request)}"))
    if not runs and not is_json:
        print("headrace requests: nothing waits for an answer", file=sys.stderr)


def _describe(request: InputRequest) -> str:
    arguments = msgspec.json.encode(request.args).decode()
    call = f"{request.name}({arguments})"
    return one_line(f"{call}  {request.message}" if request.message else call)
