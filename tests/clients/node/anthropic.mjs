// Asks a server through the `@anthropic-ai/sdk` package, and prints what came back as JSON.

import Anthropic from "@anthropic-ai/sdk";

const [url] = process.argv.slice(2);
const client = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
const tools = [
  { name: "tides", input_schema: { type: "object", properties: { day: { type: "string" } } } },
];
const user = (content) => ({ role: "user", content });
const ask = (model, content, more = {}) => ({
  model,
  max_tokens: 2000,
  messages: [user(content)],
  ...more,
});

async function text(model) {
  const whole = await client.messages.create(ask(model, "text"));
  const final = await client.messages.stream(ask(model, "think")).finalMessage();
  return {
    whole: whole.content[0].text,
    thought: final.content[0].thinking,
    is_signed: final.content[0].signature.length > 0,
    said: final.content[1].text,
    stop: final.stop_reason,
    tokens: final.usage.output_tokens,
  };
}

async function loop(model, word) {
  const message = await client.messages.stream(ask(model, word, { tools })).finalMessage();
  const calls = message.content.filter((block) => block.type === "tool_use");
  const results = calls.map((call, number) => ({
    type: "tool_result",
    tool_use_id: call.id,
    content: `noon ${number}`,
  }));
  const messages = [
    user(word),
    { role: "assistant", content: message.content },
    user(results),
  ];
  const last = await client.messages.create({ model, max_tokens: 2000, messages, tools });
  return { days: calls.map((call) => call.input.day), found: last.content[0].text };
}

async function schema(model) {
  const format = { type: "json_schema", schema: { type: "object" } };
  const answer = await client.messages.create(ask(model, "schema", { output_config: { format } }));
  return JSON.parse(answer.content[0].text);
}

async function image(model) {
  const source = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
  const content = [{ type: "image", source }, { type: "text", text: "text" }];
  const answer = await client.messages.create(ask(model, content));
  return answer.content[0].text;
}

async function failure(model, word, stream) {
  const seen = [];
  try {
    const answer = await client.messages.create(ask(model, word, { stream }));
    if (stream) {
      for await (const event of answer) {
        seen.push(event.type);
      }
    }
  } catch (error) {
    return { kind: error.constructor.name, status: error.status ?? null, seen };
  }
  return { kind: "none", seen };
}

async function leave(model) {
  const stream = await client.messages.create(ask(model, "slow", { stream: true }));
  for await (const event of stream) {
    if (event.type === "content_block_delta") {
      stream.controller.abort();
      break;
    }
  }
  return "left";
}

const report = {};
for (const model of ["helper", "gpt", "claude"]) {
  report[model] = {
    text: await text(model),
    schema: await schema(model),
    image: await image(model),
    refused: await failure(model, "refuse", true),
    broken: await failure(model, "error", true),
    cut: await failure(model, "cut", true),
    failed: await failure(model, "error", false),
    left: await leave(model),
    tokens: (await client.messages.countTokens({ model, messages: [user("text")] })).input_tokens,
  };
  if (model !== "helper") {
    report[model].loop = await loop(model, "parallel");
  }
}
console.log(JSON.stringify(report));
