"""Accounts of the people who use a server: names and passwords, sign-ins and settings."""

from headrace.server.storage.access_tokens import Role
from headrace.server.storage.accounts.account import (
    Account,
    Accounts,
    SignIn,
    SignInInfo,
    check_user_name,
    hash_sign_in,
    sign_in_id_of,
)
from headrace.server.storage.accounts.sqlite import SQLiteAccounts

__all__ = [
    "Account",
    "Accounts",
    "Role",
    "SQLiteAccounts",
    "SignIn",
    "SignInInfo",
    "check_user_name",
    "hash_sign_in",
    "sign_in_id_of",
]
