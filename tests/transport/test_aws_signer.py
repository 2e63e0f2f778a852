"""Signatures of calls to AWS: those of botocore, for what the server receives."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import botocore.auth
import pytest
from aiohttp import web
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, RefreshableCredentials

from headrace.errors import UsageError
from headrace.providers import resolve
from headrace.transport.http import HTTPTransport
from headrace.transport.signers.aws_signer import AWSSigner
from headrace.transport.transport import HTTPCall, sign_call
from headrace.turn.model import Model, encode_call
from headrace.turn.open_turn import open_turn
from tests.aws import aws_events
from tests.unit.encoders.conversation import request

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
URL = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a.b-v1:0/converse-stream"
CALL = HTTPCall(url=URL, headers={"content-type": "application/json"}, body=b'{"messages":[]}')
KEYS = Credentials("AKIDEXAMPLE", "secret-key-of-the-test", "token-of-the-session")


class Session:
    """Stands for botocore's session, whose chain would look at this machine."""

    def __init__(self, credentials: Any) -> None:
        self._credentials = credentials

    def get_credentials(self) -> Any:
        return self._credentials


def sign(call: HTTPCall = CALL, credentials: Any = KEYS, region: str = "eu-west-1") -> HTTPCall:
    signer = AWSSigner(region, session=Session(credentials), clock=lambda: NOW)
    return asyncio.run(signer(call))


def sign_by_botocore(
    monkeypatch: pytest.MonkeyPatch, call: HTTPCall, credentials: Any, region: str
) -> dict[str, str]:
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: NOW)
    made = AWSRequest("POST", call.url, headers=call.headers, data=call.body)
    SigV4Auth(credentials, "bedrock", region).add_auth(made)
    return {name.lower(): value for name, value in made.headers.items()}


@pytest.mark.parametrize("keys", [KEYS, Credentials("AKIDEXAMPLE", "another-secret")])
@pytest.mark.parametrize(
    "call",
    [
        CALL,
        HTTPCall(url=URL.replace("a.b-v1:0", "arn:aws:bedrock:x%2Fy"), headers={}, body=b""),
        HTTPCall(url=URL + "?b=2&a=1", headers={"X-Odd": " a  b "}, body="é".encode()),
    ],
)
def test_the_signature_is_botocores(
    monkeypatch: pytest.MonkeyPatch, call: HTTPCall, keys: Credentials
) -> None:
    expected = sign_by_botocore(monkeypatch, call, keys, "eu-west-1")
    signed = sign(call, keys)
    assert signed.headers == expected
    assert "Credential=AKIDEXAMPLE/20261116/eu-west-1/bedrock/" in signed.headers["authorization"]
    assert (signed.url, signed.body) == (call.url, call.body)


def test_a_later_signature_has_its_own_time() -> None:
    times = iter([NOW, NOW + timedelta(minutes=9)])
    signer = AWSSigner("eu-west-1", session=Session(KEYS), clock=lambda: next(times))
    first, second = asyncio.run(signer(CALL)), asyncio.run(signer(CALL))
    assert first.headers["x-amz-date"] == "20261116T120000Z"
    assert second.headers["x-amz-date"] == "20261116T120900Z"
    assert first.headers["authorization"] != second.headers["authorization"]


def test_temporary_credentials_are_refreshed_before_they_lapse() -> None:
    lifetimes = iter([timedelta(minutes=5), timedelta(hours=1), timedelta(hours=1)])
    made: list[int] = []

    def refresh() -> dict[str, str]:
        made.append(len(made))
        lapses = datetime.now(UTC) + next(lifetimes)
        return {
            "access_key": f"AKID{len(made)}",
            "secret_key": "s",
            "token": "t",
            "expiry_time": lapses.isoformat(),
        }

    keys = RefreshableCredentials.create_from_metadata(
        metadata=refresh(), refresh_using=refresh, method="test"
    )
    signer = AWSSigner("eu-west-1", session=Session(keys))
    for _ in range(3):
        headers = asyncio.run(signer(CALL)).headers
        assert "Credential=AKID2/" in headers["authorization"]
    assert len(made) == 2


def test_missing_credentials_say_what_to_set() -> None:
    with pytest.raises(UsageError, match=r"AWS_ACCESS_KEY_ID.*AWS_PROFILE.*AWS_BEARER_TOKEN"):
        sign(credentials=None)


def test_a_profile_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(UsageError, match="nobody"):
        asyncio.run(AWSSigner("eu-west-1")(CALL))


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        signed = sign()
    assert "token-of-the-session" not in caplog.text
    assert "secret-key" not in caplog.text
    for shown in (repr(signed), str(signed.__rich_repr__())):
        assert "token-of-the-session" not in shown
        assert "Signature" not in shown


# -- by the catalog


def isolate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide what this machine may have of AWS."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def test_the_environment_gives_credentials_and_region(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    endpoint = resolve("bedrock:amazon.nova-pro-v1:0")
    assert endpoint.url == (
        "https://bedrock-runtime.ap-south-1.amazonaws.com/model/amazon.nova-pro-v1:0/converse-stream"
    )
    call = encode_call(endpoint, request(model=endpoint.model))
    signed = asyncio.run(sign_call(call))
    assert "Credential=AKIDENV/" in signed.headers["authorization"]
    assert "/ap-south-1/bedrock/" in signed.headers["authorization"]


def test_a_profile_gives_credentials_and_region(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    (tmp_path / "config").write_text("[profile work]\nregion = us-west-2\n")
    keys = "[work]\naws_access_key_id = AKIDFILE\naws_secret_access_key = s\n"
    (tmp_path / "credentials").write_text(keys)
    monkeypatch.setenv("AWS_PROFILE", "work")
    call = encode_call(resolve("bedrock-anthropic:anthropic.claude-x"), request())
    assert call.url.startswith("https://bedrock-runtime.us-west-2.amazonaws.com/model/")
    signed = asyncio.run(sign_call(call))
    assert "Credential=AKIDFILE/" in signed.headers["authorization"]


def test_a_bearer_token_needs_no_signature(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-x")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    endpoint = resolve("bedrock:m")
    assert endpoint.sign is None
    assert endpoint.headers["authorization"] == "Bearer bedrock-api-key-x"


def test_a_missing_or_odd_region_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    with pytest.raises(UsageError, match="set AWS_REGION or AWS_DEFAULT_REGION, or pass base_url="):
        resolve("bedrock:m")
    with pytest.raises(UsageError, match="expected a region"):
        resolve("bedrock:m", environ={"AWS_REGION": "evil.example/"})


def test_the_region_of_an_address_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    for host in ("bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "x.us-gov-west-1.api.aws"):
        endpoint = resolve("bedrock:m", base_url=f"https://{host}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
        assert endpoint.url == f"https://{host}/model/m/converse-stream"
        assert endpoint.sign is not None


def test_the_body_for_claude_by_invoke_model() -> None:
    endpoint = resolve("bedrock-anthropic:m", api_key="k", environ={"AWS_REGION": "us-east-1"})
    body = json.loads(encode_call(endpoint, request()).body)
    assert body["anthropic_version"] == "bedrock-2023-05-31"
    assert not {"model", "stream"} & set(body)


# -- over a connection


@pytest.mark.parametrize(
    "model", ["a.b-v1:0", "arn:aws:bedrock:us-east-1:1:inference-profile/x.y-v1:0"]
)
def test_the_server_receives_what_was_signed(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """The server signs what it got, byte for byte, and compares: the path must not be rewritten on
    its way. A refused attempt is signed again."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    seen: list[str] = []

    async def answer(got: web.Request) -> web.Response:
        names = got.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
        headers = {name: got.headers[name] for name in names.split(";")}
        url = f"http://{got.headers['host']}{got.raw_path}"
        made = AWSRequest("POST", url, headers=headers, data=await got.read())
        made.context["timestamp"] = got.headers["x-amz-date"]
        signer = SigV4Auth(Credentials("AKIDENV", "s"), "bedrock", "us-east-1")
        text = signer.string_to_sign(made, signer.canonical_request(made))
        assert got.headers["authorization"].endswith(signer.signature(text, made))
        seen.append(got.raw_path)
        if len(seen) == 1:
            return web.Response(status=503, body=b'{"message":"busy"}')
        events = aws_events(
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "hi"}}},
            {"messageStop": {"stopReason": "end_turn"}},
        )
        return web.Response(body=events)

    async def pause(seconds: float) -> None:
        await asyncio.sleep(0)

    async def ask() -> list[Any]:
        app = web.Application()
        app.router.add_post("/{tail:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        endpoint = resolve(
            f"bedrock:{model}",
            base_url=f"http://127.0.0.1:{port}",
            environ={"AWS_REGION": "us-east-1"},
        )
        ours = Model(endpoint, HTTPTransport(), owns_transport=True)
        try:
            call = ours.call(request(model=model))
            turn = await open_turn(
                ours.transport, call, ours.decoder, sleep=lambda _: asyncio.sleep(0)
            )
            return [event async for events in turn for event in events]
        finally:
            await ours.aclose()
            await runner.cleanup()

    events = asyncio.run(ask())
    assert type(events[-1]).__name__ == "TurnFinished"
    assert len(seen) == 2
    assert seen[0].count("/") == 3
