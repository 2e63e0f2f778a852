"""The routes of accounts: sign in and out, sign-ins, password, settings and data."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from headrace.server.accounts.api import (
    AccountView,
    PasswordChange,
    SettingsUpdate,
    SignInList,
    SignInRequest,
    SignInView,
    UserSettings,
)
from headrace.server.accounts.cookie import format_cookie, read_cookie
from headrace.server.accounts.origin import is_foreign, is_loopback_host
from headrace.server.http.body import read_body
from headrace.server.http.bounded_response import BoundedResponse
from headrace.server.http.user_export import EXPORT_BYTES, MEDIA_TYPE, export_user
from headrace.server.http_error import HTTPError, JSONResponse
from headrace.server.service import Service
from headrace.server.storage.access_tokens import User
from headrace.server.storage.accounts import hash_sign_in, sign_in_id_of


class AccountRoutes:
    """The routes under `/api/account`, `/api/sign-in`, `/api/sign-out` and `/api/sign-ins`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._accounts = service.accounts

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/api/account", self.read, methods=["GET"]),
            Route("/api/account/settings", self.change_settings, methods=["PATCH"]),
            Route("/api/account/password", self.change_password, methods=["POST"]),
            Route("/api/account/export", self.export, methods=["GET"]),
            Route("/api/account/data", self.delete_data, methods=["DELETE"]),
            Route("/api/sign-in", self.sign_in, methods=["POST"]),
            Route("/api/sign-out", self.sign_out, methods=["POST"]),
            Route("/api/sign-ins", self.list_sign_ins, methods=["GET"]),
            Route("/api/sign-ins/{sign_in_id}", self.end_sign_in, methods=["DELETE"]),
        ]

    async def read(self, request: Request) -> Response:
        """Return who the user is, and the user's settings."""
        return JSONResponse(await self._describe(await self._service.user(request)))

    async def change_settings(self, request: Request) -> Response:
        """Change some settings, and return all of them."""
        user = await self._service.user(request)
        body = await read_body(request, SettingsUpdate, self._service.settings)
        changes = body.changes
        efforts = self._service.settings.efforts
        if changes.get("effort") is not None and changes["effort"] not in efforts:
            text = f"this server allows the efforts {', '.join(efforts)}"
            raise HTTPError(422, "unknown_effort", text)
        return JSONResponse(await self._accounts.change_settings(user.owner, changes))

    async def sign_in(self, request: Request) -> Response:
        """Check a name and a password, and set the cookie of a new sign-in."""
        service = self._service
        if service.sign_ins is None:
            # Without users there is nothing to sign in to: the user is known.
            user = await service.user(request)
            raise HTTPError(409, "no_sign_in", f"this server knows you as {user.owner} already")
        _check_page(request)
        body = await read_body(request, SignInRequest, service.settings)
        user, cookie = await service.sign_ins.begin(
            body.user,
            body.password,
            client=request.headers.get("user-agent", ""),
            address=service.identity.proxies.find_address(request),
        )
        await self._end_earlier(request)
        response = JSONResponse(await self._describe(user))
        max_age_s = service.settings.sign_in_max_s
        response.headers["set-cookie"] = format_cookie(request.headers, cookie, max_age_s)
        return response

    async def _end_earlier(self, request: Request) -> None:
        """End the sign-in that the new one replaces in the same browser."""
        cookie = read_cookie(request.headers)
        earlier = (
            None if cookie is None else await self._accounts.find_sign_in(hash_sign_in(cookie))
        )
        if cookie is not None and earlier is not None:
            await self._accounts.end_sign_in(earlier.owner, sign_in_id_of(hash_sign_in(cookie)))
            await self._service.end_revoked_streams()

    async def sign_out(self, request: Request) -> Response:
        """End the sign-in of this request, and its streams."""
        user = await self._service.user(request)
        if user.sign_in_hash is None:
            raise HTTPError(409, "no_sign_in", "this request is not signed in with a cookie")
        await self._accounts.end_sign_in(user.owner, sign_in_id_of(user.sign_in_hash))
        await self._service.end_revoked_streams()
        response = Response(status_code=204)
        response.headers["set-cookie"] = format_cookie(request.headers, "", 0)
        return response

    async def list_sign_ins(self, request: Request) -> Response:
        """Return the sign-ins of the user."""
        user = await self._find_person(request)
        current = None if user.sign_in_hash is None else sign_in_id_of(user.sign_in_hash)
        items = [
            SignInView(**msgspec.structs.asdict(info), is_current=info.id == current)
            for info in await self._accounts.sign_ins(user.owner)
        ]
        return JSONResponse(SignInList(items=items))

    async def end_sign_in(self, request: Request) -> Response:
        """End one of the user's sign-ins, and its streams."""
        user = await self._find_person(request)
        sign_in_id = request.path_params["sign_in_id"]
        if not await self._accounts.end_sign_in(user.owner, sign_in_id):
            raise HTTPError(404, "not_found", "there is no such sign-in")
        await self._service.end_revoked_streams()
        return Response(status_code=204)

    async def change_password(self, request: Request) -> Response:
        """Replace the password, and end all other sign-ins."""
        user = await self._find_person(request)
        sign_ins = self._service.sign_ins
        if sign_ins is None:
            raise HTTPError(409, "no_password", "this server has no passwords")
        body = await read_body(request, PasswordChange, self._service.settings)
        await sign_ins.change_password(user, body.old, body.new)
        await self._service.end_revoked_streams()
        return Response(status_code=204)

    async def export(self, request: Request) -> Response:
        """Stream everything that is stored of the user."""
        service = self._service
        owner = await service.owner(request)
        # A download is as expensive as a search.
        service.quota.count_search(owner)

        async def create() -> Response:
            lines = export_user(service.user_chores.storage, owner)
            headers = {"content-disposition": 'attachment; filename="headrace.jsonl"'}
            return StreamingResponse(lines, media_type=MEDIA_TYPE, headers=headers)

        return BoundedResponse(service.response_budget, owner, EXPORT_BYTES, create)

    async def delete_data(self, request: Request) -> Response:
        """Delete the conversations, files and settings of the user. The account stays."""
        owner = await self._service.owner(request)
        if not await self._service.user_chores.delete_content(owner):
            text = "an answer is still being written and has not stopped yet: try again soon"
            raise HTTPError(409, "run_live", text)
        return Response(status_code=204)

    async def _find_person(self, request: Request) -> User:
        """Return the user, who must not be a program: a stolen access token must not be able to
        keep its owner out. Raises an `HTTPError` of 403."""
        user = await self._service.user(request)
        if user.carrier == "token":
            text = "an access token cannot manage sign-ins and passwords: sign in"
            raise HTTPError(403, "needs_sign_in", text)
        return user

    async def _describe(self, user: User) -> AccountView:
        settings = await self._accounts.settings(user.owner)
        return AccountView(
            user=user.owner,
            role=user.role,
            carrier=user.carrier,
            settings=msgspec.convert(settings, UserSettings),
        )


def _check_page(request: Request) -> None:
    """Refuse to sign in from a page of another origin, even of one that may use the server, and
    from a page whose browser would not keep the cookie."""
    headers = request.headers
    if is_foreign(headers):
        raise HTTPError(403, "foreign_origin", "requests from other sites are refused")
    is_plain = headers.get("origin", "").startswith("http://")
    if is_plain and not is_loopback_host(headers.get("host", "")):
        raise HTTPError(400, "needs_https", "open the page with https:// to sign in")
