"""Runs `headrace ask`: one question, one streamed answer."""

from __future__ import annotations

import logging
import os
import sys
from argparse import Namespace

from headrace.attachment import attach
from headrace.cli.terminal.answer import AnswerPrinter
from headrace.cli.terminal.log_output import print_log
from headrace.content import Content, TextContent
from headrace.errors import InputError, RequestFailed, UsageError
from headrace.events import encode_record
from headrace.turn import TurnStream, stream

_EXIT_INCOMPLETE = 3
_EXIT_INTERRUPTED = 130


def run(options: Namespace) -> int:
    """Ask; the exit code says whether a complete answer arrived."""
    if options.verbose:
        print_log(logging.DEBUG)
    try:
        turn = _turn(options)
    except (UsageError, InputError) as error:
        print(f"headrace ask: {error}", file=sys.stderr)
        return 2
    printer = AnswerPrinter(
        options.color,
        shows_reasoning=not options.hide_reasoning,
        shows_status=not options.verbose,
    )
    try:
        exit_code = _answer(turn, printer, is_json=options.json)
        return _EXIT_INCOMPLETE if options.strict and _has_lost(turn) else exit_code
    except UsageError as error:
        printer.complain(str(error))
        return 2
    except RequestFailed as error:
        printer.complain(_refusal(options.model, error))
        return 1
    except KeyboardInterrupt:
        printer.close(turn.usage)
        printer.complain("interrupted; this is what had arrived")
        return _EXIT_INTERRUPTED


def _turn(options: Namespace) -> TurnStream:
    options.model = options.model or os.environ.get("HEADRACE_MODEL")
    if not options.model:
        raise UsageError(
            "no model was given: use -m provider:model, or set HEADRACE_MODEL;"
            " headrace providers lists the providers"
        )
    given = {"effort": options.effort, "max_tokens": options.max_tokens}
    given["temperature"] = options.temperature
    return stream(
        options.model,
        _question(options),
        instructions=options.instructions,
        base_url=options.base_url,
        record=options.record,
        **{name: value for name, value in given.items() if value is not None},
    )


def _question(options: Namespace) -> list[str | Content]:
    """Return the files, the piped input and the words, in that order."""
    content: list[str | Content] = [attach(name) for name in options.file]
    if sys.stdin is not None and not sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        piped = sys.stdin.buffer.read().decode("utf-8", "replace")
        content += [TextContent(piped)] if piped.strip() else []
    words = " ".join(options.words)
    content += [words] if words else []
    if not content:
        raise UsageError("there is no question: give it as words, pipe it in, or attach a file")
    return content


def _answer(turn: TurnStream, printer: AnswerPrinter, *, is_json: bool) -> int:
    with turn:
        if is_json:
            for record in turn.records():
                sys.stdout.write(encode_record(record).decode() + "\n")
                sys.stdout.flush()
            return 1 if turn.error else 0
        for event in turn:
            printer.feed(event)
    printer.close(turn.usage)
    if turn.error is not None:
        printer.complain(f"{turn.error.category}: {turn.error.message}")
        return 1
    if turn.message.warning is not None:
        printer.complain(turn.message.warning)
    if turn.finish is not None and turn.finish.word not in ("end_turn", "tool_use"):
        printer.complain(f"the answer ended with {turn.finish}")
    return 0


def _has_lost(turn: TurnStream) -> bool:
    """Return whether what was printed lacks something that could not be read, at least at first."""
    return turn.message.skipped_frames > 0


def _refusal(model: str, error: RequestFailed) -> str:
    hints = {
        "auth": "; is the key right? headrace providers shows where it is looked for",
        "not_found": "; is the model's name right?",
        "rate_limit": "; wait, or ask another provider",
        "context_overflow": "; ask with less",
    }
    where = f" (request {error.request_id})" if error.request_id else ""
    hint = hints.get(error.category, "")
    said = str(error).rstrip(".") if hint else str(error)
    return f"{model}: {error.category}: {said}{hint}{where}"
