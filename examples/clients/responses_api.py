"""Use a Headrace server through the Responses API of the `openai` package: `pip install openai`."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("HEADRACE_URL", "http://127.0.0.1:8700") + "/v1",
    api_key=os.environ.get("HEADRACE_TOKEN", "none"),
)

# The server keeps the conversation.
first = client.responses.create(model="default", input="What is 12 * 34?")
second = client.responses.create(
    model="default", input="What did I ask first?", previous_response_id=first.id
)
print(first.output_text, second.previous_response_id == first.id)

# An answer in the background outlives its client, who reads on after the last event that it saw.
seen, response_id, text = 0, "", ""
stream = client.responses.create(
    model="default", input="Tell me about the tides.", background=True, stream=True
)
for event in stream:
    seen = event.sequence_number
    if event.type == "response.created":
        response_id = event.response.id
    if event.type == "response.output_text.delta":
        text += event.delta
        break
stream.close()  # the connection breaks
for event in client.responses.retrieve(response_id, stream=True, starting_after=seen):
    if event.type == "response.output_text.delta":
        text += event.delta
print(text == client.responses.retrieve(response_id).output_text)

# A stop stops, and what was written so far is kept.
long = client.responses.create(model="default", input="Tell me about the tides.", background=True)
print(client.responses.cancel(long.id).status)
