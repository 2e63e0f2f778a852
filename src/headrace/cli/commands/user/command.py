"""Runs `headrace user`: manages the accounts of people who sign in to a server."""

from __future__ import annotations

import getpass
import secrets
import sys
from argparse import Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headrace.cli.account_storage import call_accounts
from headrace.cli.commands.user import user_data
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.server.storage.accounts import Account, Role


def run(options: Namespace) -> int:
    """Add, list, disable, enable or reset accounts, or export or delete everything of a user."""
    commands = {
        "add": _add,
        "list": _list,
        "disable": _disable,
        "enable": _enable,
        "reset": _reset,
        "export": user_data.export,
        "delete": user_data.delete,
    }
    commands[options.action](options)
    return 0


def _add(options: Namespace) -> None:
    from headrace.server.service import now_ms
    from headrace.server.storage.accounts import check_user_name

    name = check_user_name(options.name)
    password_hash = _choose_password(name, is_generated=options.generate)
    role: Role = "operator" if options.operator else "user"
    if not call_accounts(options, lambda one: one.add(name, role, password_hash, now_ms())):
        raise UsageError(
            f"there is a user {name} already, or it is being deleted: `headrace user reset` sets a"
            " password"
        )


def _list(options: Namespace) -> None:
    for account in call_accounts(options, lambda accounts: accounts.all()):
        print(_describe(account))


def _describe(account: Account) -> str:
    made = datetime.fromtimestamp(account.created_ms / 1000, UTC)
    notes: list[str] = [] if account.role == "user" else [account.role]
    notes += ["disabled"] if account.is_disabled else []
    return f"{made:%Y-%m-%d}  {account.name}  {', '.join(notes)}".rstrip()


def _disable(options: Namespace) -> None:
    _set_disabled(options, is_disabled=True)


def _enable(options: Namespace) -> None:
    _set_disabled(options, is_disabled=False)


def _set_disabled(options: Namespace, *, is_disabled: bool) -> None:
    if not call_accounts(options, lambda one: one.set_disabled(options.name, is_disabled)):
        raise _unknown(options.name)


def _reset(options: Namespace) -> None:
    if call_accounts(options, lambda accounts: accounts.find(options.name)) is None:
        raise _unknown(options.name)
    password_hash = _choose_password(options.name, is_generated=options.generate)
    if not call_accounts(options, lambda one: one.set_password(options.name, password_hash)):
        raise _unknown(options.name)


def _unknown(name: str) -> UsageError:
    return UsageError(f"there is no user {name}: `headrace user list` shows all of them")


def _choose_password(name: str, *, is_generated: bool) -> str:
    """Return the hash of a new password, which the user types or which is made up and printed."""
    from headrace.server.accounts.passwords import check_extra, check_new_password, hash_password

    check_extra()
    password = secrets.token_urlsafe(15) if is_generated else _read_password()
    check_new_password(password, name)
    password_hash = hash_password(password)
    if is_generated:
        print(password)
    return password_hash


def _read_password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("The same again: ") != password:
        raise UsageError("the passwords are not the same")
    return password
