"""Ask a Headrace server through the `openai` package: `pip install openai`."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("HEADRACE_URL", "http://127.0.0.1:8700") + "/v1",
    api_key=os.environ.get("HEADRACE_TOKEN", "none"),
)
stream = client.chat.completions.create(
    model="default",
    messages=[{"role": "user", "content": "What is 12 * 34?"}],
    stream=True,
)
for chunk in stream:
    delta = chunk.choices[0].delta
    print(getattr(delta, "reasoning_content", None) or delta.content or "", end="", flush=True)
print()
