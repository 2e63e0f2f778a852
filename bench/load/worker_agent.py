"""The agent of workers under load, which are processes of their own: the upstream is in the
environment."""

from __future__ import annotations

import os

from headrace.engine import Agent

agent = Agent("compatible:bench", base_url=os.environ["BENCH_UPSTREAM"], api_key="none")
