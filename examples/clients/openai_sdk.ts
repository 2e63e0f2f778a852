// Ask a Headrace server through the `openai` package: `npm install openai`.

import OpenAI from "openai";

const client = new OpenAI({
  baseURL: (process.env.HEADRACE_URL ?? "http://127.0.0.1:8700") + "/v1",
  apiKey: process.env.HEADRACE_TOKEN ?? "none",
});
const stream = await client.chat.completions.create({
  model: "default",
  messages: [{ role: "user", content: "What is 12 * 34?" }],
  stream: true,
});
for await (const chunk of stream) {
  const delta: { content?: string | null; reasoning_content?: string } = chunk.choices[0].delta;
  process.stdout.write(delta.reasoning_content ?? delta.content ?? "");
}
process.stdout.write("\n");
