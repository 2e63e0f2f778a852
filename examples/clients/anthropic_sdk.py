"""Ask a Headrace server through the `anthropic` package: `pip install anthropic`."""

import os

from anthropic import Anthropic

client = Anthropic(
    base_url=os.environ.get("HEADRACE_URL", "http://127.0.0.1:8700"),
    api_key=os.environ.get("HEADRACE_TOKEN", "none"),
)
with client.messages.stream(
    model="default",
    max_tokens=1000,
    messages=[{"role": "user", "content": "What is 12 * 34?"}],
) as stream:
    for event in stream:
        if event.type == "thinking":
            print(event.thinking, end="", flush=True)
        elif event.type == "text":
            print(event.text, end="", flush=True)
print()
