"""The servers under load, each in a process of its own: `python -m bench.load.server NAME …`.

It prints its port when it takes requests. All of them run on asyncio's own event loop, or all on
uvloop if `BENCH_LOOP=uvloop` is set.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn

from bench.load.mark import EVENTS_A_SECOND, mark, now_ns


def headrace(upstream: str, data: str, *trace: str) -> None:
    """The product as `headrace serve` runs it."""
    from bench.load.trace import Trace
    from headrace.engine import Agent
    from headrace.server import create_app
    from headrace.server.listener import open_listener
    from headrace.server.process import serve

    agent = Agent("compatible:bench", base_url=upstream, api_key="none")
    app = create_app(agent, data=Path(data))
    if trace:
        Trace(Path(trace[0])).attach(app.state.service.log)
    listener = open_listener("127.0.0.1", 0)
    port = listener.getsockname()[1]
    _run_main(serve(app, listener, ready=lambda: print("port", port, flush=True)))


def valkey(upstream: str, urls: str) -> None:
    """The product as `headrace serve --store --log` runs it."""
    postgres(upstream, *urls.split(" "))


def postgres(upstream: str, url: str, log: str | None = None) -> None:
    """The product as `headrace serve --store` runs it."""
    from headrace.engine import Agent
    from headrace.server import create_app
    from headrace.server.listener import open_listener
    from headrace.server.process import serve

    agent = Agent("compatible:bench", base_url=upstream, api_key="none")
    app = create_app(agent, data=Path("unused"), store=url, log=log)
    listener = open_listener("127.0.0.1", 0)
    port = listener.getsockname()[1]
    _run_main(serve(app, listener, ready=lambda: print("port", port, flush=True)))


def workers(upstream: str, url: str) -> None:
    """The product as `headrace serve --store --workers 2` runs it."""
    from headrace.cli.main import main

    os.environ["BENCH_UPSTREAM"] = upstream
    agent = "bench.load.worker_agent:agent"
    sys.exit(main(["serve", agent, "--port", "0", "--store", url, "--workers", "2"]))


def gateway(upstream: str, data: str) -> None:
    """The product as `headrace serve --gateway` runs it."""
    from headrace.engine import Agent
    from headrace.server import create_app
    from headrace.server.gateway import GatewayConfig
    from headrace.server.gateway.config import GatewayModel, GatewayProvider
    from headrace.server.listener import open_listener
    from headrace.server.process import serve

    os.environ["COMPATIBLE_API_KEY"] = "none"
    config = GatewayConfig(
        models={"bench": GatewayModel(model="compatible:bench")},
        providers={"compatible": GatewayProvider(base_url=upstream)},
    )
    app = create_app(Agent("rehearsal:demo"), data=Path(data), gateway=config)
    listener = open_listener("127.0.0.1", 0)
    port = listener.getsockname()[1]
    _run_main(serve(app, listener, ready=lambda: print("port", port, flush=True)))


def relay(upstream: str, *_: str) -> None:
    """A pass-through with aiohttp alone: what the upstream sends goes to the client, unread."""
    from aiohttp import ClientSession, TCPConnector, web

    async def chat(request: web.Request) -> web.StreamResponse:
        session: ClientSession = request.app["session"]
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        url = f"{upstream}/chat/completions"
        async with session.post(url, data=await request.read()) as answer:
            await response.prepare(request)
            # Clients leave in the middle of their answer.
            with suppress(ConnectionResetError):
                async for part in answer.content.iter_any():
                    await response.write(part)
        return response

    async def main() -> None:
        app = web.Application()
        # Without the limit of 100 connections that aiohttp has by default.
        app["session"] = ClientSession(connector=TCPConnector(limit=0))
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        print("port", runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    _run_main(main())


def bare(*_: str) -> None:
    """A Starlette generator that makes its events itself: no upstream, no log."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    async def events() -> AsyncIterator[bytes]:
        due_ns = now_ns()
        while True:
            due_ns += 1_000_000_000 // EVENTS_A_SECOND
            await asyncio.sleep((due_ns - now_ns()) / 1e9)
            # When it was due: a generator that is late is as slow as one that sends late.
            yield b'data: {"type":"text_delta","delta":" water%b"}\n\n' % mark(due_ns)

    async def chat(request: Request) -> StreamingResponse:
        return StreamingResponse(events(), media_type="text/event-stream")

    _run(Starlette(routes=[Route("/api/chat", chat, methods=["POST"])]))


def litellm(upstream: str, data: str, key: str) -> None:
    """LiteLLM's proxy before the same upstream. It does not start without a key of its own."""
    config = Path(data) / "litellm.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(_LITELLM.format(upstream=upstream))
    os.environ |= {"CONFIG_FILE_PATH": str(config), "LITELLM_LOG": "ERROR", "NO_DOCS": "True"}
    os.environ["LITELLM_MASTER_KEY"] = key
    from litellm.proxy.proxy_server import app

    _run(app)


_LITELLM = """
model_list:
  - model_name: bench
    litellm_params: {{model: openai/bench, api_base: "{upstream}", api_key: none}}
litellm_settings: {{telemetry: false}}
general_settings: {{disable_spend_logs: true}}
"""


def _run(app: Any) -> None:
    config = uvicorn.Config(app, port=0, log_level="error", access_log=False)
    server = uvicorn.Server(config)

    async def main() -> None:
        serving = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
            if serving.done():
                return
        print("port", server.servers[0].sockets[0].getsockname()[1], flush=True)
        await serving

    _run_main(main())


def _run_main(main: Coroutine[Any, Any, None]) -> None:
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if os.environ.get("BENCH_LOOP") == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


if __name__ == "__main__":
    servers: dict[str, Callable[..., None]] = {
        "headrace": headrace,
        "postgres": postgres,
        "valkey": valkey,
        "workers": workers,
        "gateway": gateway,
        "gateway-messages": gateway,
        "relay": relay,
        "bare": bare,
        "litellm": litellm,
    }
    servers[sys.argv[1]](*sys.argv[2:])
