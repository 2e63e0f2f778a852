"""Every refusal of the server, read off its source: status, code, and what comes with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import headrace.server
from headrace.projections.registry import PROTOCOLS

_SOURCES = Path(headrace.server.__file__).parent
_OURS = ("status", "code", "message", "request_id")


class Refusal(NamedTuple):
    """One code. A status of None is whatever the router says."""

    code: str
    status: int | None
    extras: tuple[str, ...] = ()
    """Fields of the error beside those that every error has."""


def refusals() -> dict[str, Refusal]:
    """All of them by code, by status first. A code with two statuses is a mistake."""
    found: dict[str, Refusal] = {}
    for path in sorted(_SOURCES.rglob("*.py")):
        for one in _refusals_in(ast.parse(path.read_text("utf-8"))):
            known = found.setdefault(one.code, one)
            assert known.status == one.status, f"{one.code}: {known.status} and {one.status}"
            extras = tuple(sorted({*known.extras, *one.extras}))
            found[one.code] = one._replace(extras=extras)
    order = sorted(found.values(), key=lambda one: (one.status or 1000, one.code))
    return {one.code: one for one in order}


def _refusals_in(tree: ast.AST) -> Iterator[Refusal]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="HTTPError"), args=[status, code, *_], keywords=more):
                yield _made(status, code, more)
            case ast.Call(
                func=ast.Name(id="error_response"),
                args=[ast.Constant() as status, code, *_],
                keywords=more,
            ):
                yield _made(status, code, more)
            case ast.Assign(targets=[ast.Name(id="_ROUTER_ERRORS")], value=ast.Dict() as words):
                for key, value in ast.literal_eval(words).items():
                    yield Refusal(value[0], key)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="_ROUTER_ERRORS"), attr="get"),
                args=[_, ast.Tuple(elts=[ast.Constant(value=str(word)), *_])],
            ):
                yield Refusal(word, None)
            case _:
                pass


def _made(status: ast.expr, code: ast.expr, more: list[ast.keyword]) -> Refusal:
    """Fails where a code is not written out: nobody could list it."""
    names = [keyword.arg for keyword in more if keyword.arg and keyword.arg not in _OURS]
    return Refusal(ast.literal_eval(code), ast.literal_eval(status), tuple(names))


MEANINGS: dict[str, tuple[str, str]] = {
    "bad_before": (
        "`before` is not the `next` of a page, or stands beside `q`.",
        "Send the `next` of the page before as it is; leave it out of a search.",
    ),
    "bad_body": (
        "The body is no JSON, or is nested too deeply.",
        "Mend the JSON; the message says where it breaks.",
    ),
    "bad_field": (
        "A field has the wrong type, or there is no such field.",
        "The message names it; the fields are [above](#what-is-sent).",
    ),
    "bad_id": (
        "`Last-Event-ID` is no id of a frame.",
        "Send the last `id:` as it came, or leave the header out to begin at the first frame.",
    ),
    "bad_key": (
        "The `Idempotency-Key` is empty or too long.",
        "Use a fresh random id, such as a UUID.",
    ),
    "bad_limit": ("`limit` is no number from 1 to 100.", "Send one that is."),
    "bad_request": (
        "It asks for what cannot be.",
        "The message says what; a repetition does not help.",
    ),
    "bad_title": ("The title is empty or too long.", "Shorten it; 200 characters are allowed."),
    "busy": (
        "As many answers are being written as the server allows, `max_live_runs`.",
        "Wait as long as `Retry-After` says, and repeat it.",
    ),
    "cannot_ask": (
        "The model can never be asked so: there is no key, or not that option.",
        "Set the key where the server runs, or ask without the option; the message says which.",
    ),
    "cut": (
        "The body broke off.",
        "Send it again, with the same `Idempotency-Key` if it had one.",
    ),
    "expired": (
        "The records of this run are no longer kept, `keep_logs_s`.",
        "Read the answer from the conversation that the error names.",
    ),
    "foreign_origin": (
        "A page of another site asks.",
        "Serve the page from the same host and port; there is no list of allowed sites.",
    ),
    "internal": (
        "Something broke in the server.",
        "Look for the `request_id` in its log: the reason stands there.",
    ),
    "key_taken": (
        "The `Idempotency-Key` was used for another request.",
        "Make a fresh key for each question; keep it only to repeat the same one.",
    ),
    "no_conversation": (
        "`parent_id` or `beside_id` of a new message came without `conversation_id`.",
        "Send the conversation that the message belongs to.",
    ),
    "no_message": (
        "There is nothing to answer, or only blanks.",
        "Send a `message`, or the `parent_id` of one to answer again.",
    ),
    "no_token": (
        "The server wants a token, and there is none, or one that it does not know.",
        "Send `Authorization: Bearer …`; `headrace token create` makes one.",
    ),
    "not_found": (
        "There is nothing at this address, or it belongs to somebody else.",
        "Look at the path and the id. What was deleted stays so.",
    ),
    "not_json": (
        "The body is not declared as JSON.",
        "Send `Content-Type: application/json`.",
    ),
    "refused": (
        "The router refused it, with a status of its own.",
        "The message says why.",
    ),
    "run_live": (
        "An answer is still being written there.",
        "Watch or cancel the run that `event_id` names; or ask with `is_branch`.",
    ),
    "stopping": (
        "The server starts or stops.",
        "Wait as long as `Retry-After` says, and repeat it with the same `Idempotency-Key`.",
    ),
    "storage": (
        "The database cannot be written: the disk is full, or fails.",
        "Repeat it later. Whoever runs the server finds the reason in its log.",
    ),
    "too_large": (
        "The body is longer than `max_body_bytes`.",
        "Send less, or raise the setting.",
    ),
    "too_many_requests": (
        "This user has asked too often, `asks_per_minute`.",
        "Wait as long as `Retry-After` says.",
    ),
    "too_many_runs": (
        "This user has as many answers being written as one may, `max_live_runs_per_user`.",
        "Wait for one of them, or cancel it.",
    ),
    "too_slow": ("The body took too long to come.", "Send it again, in one go."),
    "unknown_effort": (
        "The server does not allow that effort.",
        "Take one that `GET /api/models` lists.",
    ),
    "unknown_format": ("No such form of an export.", "Ask for `json` or `markdown`."),
    "unknown_frame": (
        "The stream has not come to the frame that the client has seen: a power cut may have"
        " taken it.",
        "Read the answer from the conversation that the error names.",
    ),
    "unknown_model": (
        "The server has no model of that name.",
        "Take a `name` that `GET /api/models` lists, or leave it out.",
    ),
    "unknown_protocol": (
        "The server has no such protocol.",
        f"Ask for {' or '.join(f'`{name}`' for name in PROTOCOLS)}.",
    ),
    "wrong_host": (
        "The server is not known under the name in `Host`.",
        "Add the name with `--allow-host`, or to `hosts`.",
    ),
    "wrong_verb": ("This address does not take that verb.", "Take one of the header `Allow`."),
}
"""For each code what it means, and what to do about it. Leaving one out fails the docs."""
