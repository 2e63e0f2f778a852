"""The paths of accounts in the OpenAPI document."""

from __future__ import annotations

from headrace.server.http.openapi_parts import (
    Schema,
    json_content,
    no_content,
    operation,
    path_parameter,
)
from headrace.server.http.user_export import MEDIA_TYPE


def account_paths(schemas: Schema) -> Schema:
    """Return the paths of accounts, sign-ins and settings."""

    def json(name: str) -> Schema:
        return json_content(schemas[name])

    account = json("AccountView")
    return {
        "/api/account": {"get": operation("Read who the user is", account, [])},
        "/api/account/settings": {
            "patch": operation("Change settings", json("UserSettings"), [], json("SettingsUpdate"))
        },
        "/api/account/password": {
            "post": no_content("Replace the password", [], json("PasswordChange"))
        },
        "/api/account/export": {
            "get": operation(
                "Export everything of the user, as lines of JSON",
                {MEDIA_TYPE: {"schema": {"type": "string"}}},
                [],
            )
        },
        "/api/account/data": {"delete": no_content("Delete conversations, files, settings", [])},
        "/api/sign-in": {
            "post": operation("Sign in with a password", account, [], json("SignInRequest"))
        },
        "/api/sign-out": {"post": no_content("Sign out", [])},
        "/api/sign-ins": {"get": operation("List the sign-ins", json("SignInList"), [])},
        "/api/sign-ins/{sign_in_id}": {
            "delete": no_content("End a sign-in", [path_parameter("sign_in_id")])
        },
    }
