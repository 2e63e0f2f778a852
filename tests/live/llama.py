"""A real llama.cpp server with a scripted model, on loopback, for as long as the tests need."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.shared import shared

MODEL_MAKER = "tools/llama/tiny_model.py"
SERVER = "tools/llama/serve.py"
_LIFETIME_S = 120


@contextmanager
def llama_server(folder: Path) -> Iterator[str]:
    """The server's address, once it answers."""
    maker, server = shared(MODEL_MAKER), shared(SERVER)
    assert maker is not None
    assert server is not None
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
