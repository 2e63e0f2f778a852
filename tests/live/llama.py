"""A real llama.cpp server with a scripted model, on loopback, for as long as the tests need."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.shared import shared

MODEL_MAKER = "tools/llama/tiny_model.py"
SERVER = "tools/llama/serve.py"
_LIFETIME_S = 120


_SCRIPTED_CALL = r"{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}"


@contextmanager
def llama_server(folder: Path, call: dict[str, Any] | None = None) -> Iterator[str]:
    """The server's address, once it answers.

    Its model calls the tool `get_weather`, or does another `call`, such as
    `{"name": "echo", "arguments": {"message": "Hi"}}`.
    """
    maker, server = shared(MODEL_MAKER), shared(SERVER)
    assert maker is not None
    assert server is not None
    if call is not None:
        maker = _change(maker, folder, _SCRIPTED_CALL, json.dumps(call).replace('"', r"\""))
        # Real tools have longer descriptions, and this model reads them byte by byte.
        server = _change(server, folder, "n_ctx = 2048", "n_ctx = 32768")
    model = folder / "tiny.gguf"
    subprocess.run([sys.executable, maker, model], check=True, capture_output=True, timeout=60)
    port = _free_port()
    command = [sys.executable, str(server), str(model), str(port), str(_LIFETIME_S)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            ready = next((line for line in process.stdout if "READY" in line), None)
            assert ready, "the server did not start"
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def _change(script: Path, folder: Path, old: str, new: str) -> Path:
    """Return a copy of a script with another text in one place."""
    source = script.read_text()
    assert source.count(old) == 1
    copy = folder / script.name
    copy.write_text(source.replace(old, new))
    return copy


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
