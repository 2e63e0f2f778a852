"""The application: the chat under /chat, the notes as JSON, and a page that shows both.

uvicorn --factory notebook.app:create
"""

import os
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.staticfiles import StaticFiles

from headrace.server import create_app

from .agent import notebook_agent
from .notes import Notes

DATA = Path("notebook-data")
PAGE = Path(__file__).parent / "page"
HOSTS = ("127.0.0.1", "localhost")


def create(data: Path = DATA, model: str | None = None, **options: Any) -> FastAPI:
    """Create the application. All data is stored in `data`; `options` are passed to the agent."""
    notes = Notes(data / "notes.db")
    model = model or os.environ.get("HEADRACE_MODEL", "rehearsal:demo")
    chat = create_app(notebook_agent(notes, model, **options), data=data / "chat", hosts=HOSTS)

    app = FastAPI(title="Notebook", lifespan=lambda _: chat.state.service)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)
    app.add_api_route("/notes", notes.all)
    app.add_api_route("/pins/{title:path}", notes.pin, methods=["PUT"])
    app.add_api_route("/pins/{title:path}", notes.unpin, methods=["DELETE"])
    app.mount("/chat", chat)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app
