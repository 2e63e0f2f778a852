"""Every error of the server's HTTP API, read from its source: status, code, and extra fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import headrace.server
from docs.syntax_tree import parse_source
from headrace.projections.registry import PROTOCOLS

_SOURCES = Path(headrace.server.__file__).parent
_OURS = ("status", "code", "message", "request_id")


class APIError(NamedTuple):
    """One error code. A status of None means any status of the router."""

    code: str
    status: int | None
    extras: tuple[str, ...] = ()
    """Fields in addition to those of every error."""


def api_errors() -> dict[str, APIError]:
    """Return all errors by code, sorted by status. Fails if a code has two statuses."""
    found: dict[str, APIError] = {}
    for path in sorted(_SOURCES.rglob("*.py")):
        for error in _errors_in(parse_source(path.read_text("utf-8"))):
            known = found.setdefault(error.code, error)
            assert known.status == error.status, f"{error.code}: {known.status}, {error.status}"
            extras = tuple(sorted({*known.extras, *error.extras}))
            found[error.code] = error._replace(extras=extras)
    order = sorted(found.values(), key=lambda error: (error.status or 1000, error.code))
    return {error.code: error for error in order}


def _errors_in(tree: ast.AST) -> Iterator[APIError]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="HTTPError"), args=[status, code, *_], keywords=more):
                yield _to_error(status, code, more)
            case ast.Call(
                func=ast.Name(id="error_response"),
                args=[ast.Constant() as status, code, *_],
                keywords=more,
            ):
                yield _to_error(status, code, more)
            case ast.Assign(targets=[ast.Name(id="_ROUTER_ERRORS")], value=ast.Dict() as words):
                for key, value in ast.literal_eval(words).items():
                    yield APIError(value[0], key)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="_ROUTER_ERRORS"), attr="get"),
                args=[_, ast.Tuple(elts=[ast.Constant(value=str(word)), *_])],
            ):
                yield APIError(word, None)
            case _:
                pass


def _to_error(status: ast.expr, code: ast.expr, more: list[ast.keyword]) -> APIError:
    """Create one entry. Fails if a code is not a literal, since it could not be listed."""
    names = [keyword.arg for keyword in more if keyword.arg and keyword.arg not in _OURS]
    return APIError(ast.literal_eval(code), ast.literal_eval(status), tuple(names))


MEANINGS: dict[str, tuple[str, str]] = {
    "account_disabled": (
        "The account of this user is disabled.",
        "Ask the operator; `headrace user enable` enables it.",
    ),
    "bad_password": (
        "The new password is too short, too long or too easy to guess.",
        "Choose another one; the message says what is wrong.",
    ),
    "bad_user": (
        "The trusted proxy sends no valid user name, or more than one.",
        "Let the proxy replace the header `trusted_user_header` of its clients.",
    ),
    "needs_https": (
        "The page was opened with http, so that the browser would not keep the cookie.",
        "Open it with https; http works only on this machine.",
    ),
    "needs_sign_in": (
        "An access token cannot manage sign-ins and passwords.",
        "Sign in with the password.",
    ),
    "no_password": (
        "The server has no passwords.",
        "Start it with `--users`.",
    ),
    "no_sign_in": (
        "The server does not need a sign-in, or the request has none that could end.",
        "Nothing: the user is known, or signed out.",
    ),
    "sign_in_busy": (
        "Too many people sign in at once.",
        "Repeat the request after `Retry-After`.",
    ),
    "sign_in_failed": (
        "The name or the password is wrong, or the account is disabled.",
        "Ask for them again.",
    ),
    "too_many_attempts": (
        "Too many wrong passwords for this name, or from this address.",
        "Repeat the request after `Retry-After`. Who is signed in stays so.",
    ),
    "wrong_password": (
        "The old password is wrong.",
        "Ask for it again.",
    ),
    "already_answered": (
        "Somebody has answered the request before, with another answer.",
        "Show the `decision` that counts, its `value`, and who gave it.",
    ),
    "bad_value": (
        "The value does not fit what the request asks for.",
        "Send a value that fits; the message says what is wrong.",
    ),
    "no_request": (
        "The run has no request with this id.",
        "List the requests of the run again.",
    ),
    "request_expired": (
        "The request was open until its `expires_at_ms`.",
        "Show that it has expired; the run ends, or goes on without the answer.",
    ),
    "run_over": (
        "The run has ended or gone on without this answer.",
        "Read the answer from its conversation.",
    ),
    "bad_before": (
        "`before` is not the `next` of a page, or is combined with `q`.",
        "Send the `next` of the previous page unchanged; leave it out of a search.",
    ),
    "bad_body": (
        "The body is not JSON, or is nested too deeply.",
        "Fix the JSON; the message says where.",
    ),
    "bad_field": (
        "A field has the wrong type, or is unknown.",
        "The message names the field; see [request bodies](#request-bodies).",
    ),
    "bad_id": (
        "`Last-Event-ID` is not the id of a frame.",
        "Send the last `id:` unchanged, or leave the header out to start at the first frame.",
    ),
    "bad_key": (
        "The `Idempotency-Key` is empty or too long.",
        "Use a new random id, such as a UUID.",
    ),
    "bad_option": (
        "An option of the protocol has a wrong value, or belongs to another protocol.",
        "See the [options](../topics/thinking.md#options) of the protocol.",
    ),
    "bad_limit": ("`limit` is not a number from 1 to 100.", "Send a number from 1 to 100."),
    "bad_request": (
        "The request is not possible.",
        "The message says why; a repetition does not help.",
    ),
    "bad_title": ("The title is empty or too long.", "Send 1 to 200 characters."),
    "busy": (
        "The server has reached its number of concurrent answers, `max_live_runs`.",
        "Repeat the request after `Retry-After`.",
    ),
    "no_file": (
        "There is no such file: it was deleted, has expired, or belongs to somebody else.",
        "Upload the file again.",
    ),
    "unknown_type": (
        "The file is no image (PNG, JPEG, GIF, WebP), PDF, text or audio file.",
        "Convert the file.",
    ),
    "not_bytes": (
        "An upload has another `Content-Type`.",
        "Send `Content-Type: application/octet-stream`.",
    ),
    "empty_file": ("The file is empty.", "Send a file with content."),
    "broken_image": ("The image cannot be read.", "Save the image again, or convert it."),
    "too_many_pixels": (
        "The image has more than 50 megapixels.",
        "Make the image smaller.",
    ),
    "too_many_files": (
        "Too many files of the user wait to be sent.",
        "Send or delete some; the others are deleted after a day.",
    ),
    "too_many_attachments": (
        "The message has more than 10 attachments.",
        "Send several messages.",
    ),
    "busy_uploads": (
        "Too many large requests arrive at the same time.",
        "Repeat the request after `Retry-After`.",
    ),
    "cannot_ask": (
        "The model cannot be called: there is no API key, or it does not support an option.",
        "Set the key where the server runs, or leave the option out; the message says which.",
    ),
    "cut": (
        "The body was cut off.",
        "Repeat the request, with the same `Idempotency-Key` if it had one.",
    ),
    "expired": (
        "The records of this run have been deleted, `keep_logs_s`.",
        "Read the answer from the conversation that the error names.",
    ),
    "foreign_origin": (
        "The request comes from a page of another origin.",
        "Serve the page from the same origin; other origins cannot be allowed.",
    ),
    "internal": (
        "An internal error of the server.",
        "Look for the `request_id` in the log of the server.",
    ),
    "key_taken": (
        "The `Idempotency-Key` was used for another request.",
        "Use a new key for each question; reuse it only to repeat the same request.",
    ),
    "no_conversation": (
        "`parent_id` or `beside_id` was sent without `conversation_id`.",
        "Send the `conversation_id` of the message.",
    ),
    "no_message": (
        "The message is empty.",
        "Send a `message`, or the `parent_id` of a message to answer again.",
    ),
    "no_token": (
        "The server has users, and the request names none, or its access token is not valid.",
        "Sign in, or send `Authorization: Bearer …`; `sign_in` lists what the server accepts:"
        " `password`, `token`.",
    ),
    "not_found": (
        "There is nothing at this address, or it belongs to another user.",
        "Check the path and the id.",
    ),
    "not_json": (
        "The body is not declared as JSON.",
        "Send `Content-Type: application/json`.",
    ),
    "refused": (
        "The router rejected the request, with its own status.",
        "The message says why.",
    ),
    "run_live": (
        "An answer is still being written at this place.",
        "Wait for the run that `event_id` names, cancel it, or set `is_branch`.",
    ),
    "search_busy": (
        "The search took too long, or too many searches were waiting.",
        "Repeat the request after `Retry-After`, or search for other words.",
    ),
    "no_mcp": (
        "The server was installed without the extra `mcp`.",
        "Install `headrace[mcp]`.",
    ),
    "tools_unavailable": (
        "An MCP server that the agent requires cannot be reached.",
        "Repeat the request after `Retry-After`. The message says why it failed.",
    ),
    "stopping": (
        "The server is starting or stopping.",
        "Repeat the request after `Retry-After`, with the same `Idempotency-Key`.",
    ),
    "storage": (
        "The database cannot be written: the disk is full or fails.",
        "Repeat the request later. The log of the server has the reason.",
    ),
    "storage_full": (
        "This user has stored as much as is allowed, `max_stored_bytes_per_user`.",
        "Delete conversations. Records of old runs are deleted after `keep_logs_s`.",
    ),
    "too_large": (
        "The body is longer than `max_body_bytes`.",
        "Send a shorter body, or raise the setting.",
    ),
    "too_many_requests": (
        "This user has sent too many questions, `asks_per_minute`.",
        "Repeat the request after `Retry-After`.",
    ),
    "too_many_runs": (
        "This user has reached the number of concurrent answers, `max_live_runs_per_user`.",
        "Wait for an answer, or cancel one.",
    ),
    "too_many_searches": (
        "This user has sent too many searches, `searches_per_minute`.",
        "Repeat the request after `Retry-After`.",
    ),
    "too_many_unread": (
        "Earlier responses to this user were not read and take the memory for them.",
        "Read them or close their connections, and repeat the request after `Retry-After`.",
    ),
    "too_many_watchers": (
        "This user or this answer has too many open streams, `max_watchers_per_user` and"
        " `max_watchers_per_run`.",
        "Close a stream, or repeat the request after `Retry-After`.",
    ),
    "too_many_words": (
        "A search has more than 16 words.",
        "Search for fewer words.",
    ),
    "too_slow": ("The body arrived too slowly.", "Repeat the request."),
    "unknown_effort": (
        "The server does not allow that effort.",
        "Use one that `GET /api/models` lists.",
    ),
    "unknown_format": ("There is no such export format.", "Use `json` or `markdown`."),
    "unknown_frame": (
        "The stream does not contain the frame that the client has received; a power failure may"
        " have lost it.",
        "Read the answer from the conversation that the error names.",
    ),
    "unknown_model": (
        "There is no model of that name.",
        "Use a `name` that `GET /api/models` lists, or leave it out.",
    ),
    "unknown_protocol": (
        "There is no such protocol.",
        f"Use one of {', '.join(f'`{name}`' for name in PROTOCOLS)}.",
    ),
    "wrong_host": (
        "The host name in `Host` is not allowed.",
        "Allow the name with `--allow-host`, or in `hosts`.",
    ),
    "wrong_scope": (
        "The access token is not for this address.",
        "`/metrics` needs a token of `headrace token create --scope metrics`, and everything else"
        " one without it.",
    ),
    "wrong_verb": (
        "This address does not accept the method.",
        "Use one that the header `Allow` lists.",
    ),
}
"""For each code its meaning and what to do. A test fails if a code is missing."""
