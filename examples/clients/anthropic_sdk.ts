// Ask a Headrace server through the `@anthropic-ai/sdk` package: `npm install @anthropic-ai/sdk`.

import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: process.env.HEADRACE_URL ?? "http://127.0.0.1:8700",
  apiKey: process.env.HEADRACE_TOKEN ?? "none",
});
const stream = client.messages.stream({
  model: "default",
  max_tokens: 1000,
  messages: [{ role: "user", content: "What is 12 * 34?" }],
});
stream.on("thinking", (text: string) => process.stdout.write(text));
stream.on("text", (text: string) => process.stdout.write(text));
await stream.finalMessage();
process.stdout.write("\n");
