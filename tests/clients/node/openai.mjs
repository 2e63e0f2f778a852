// Asks a server through the `openai` package, and prints what came back as JSON.

import OpenAI from "openai";

const [url] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
const tools = [
  {
    type: "function",
    function: {
      name: "tides",
      parameters: { type: "object", properties: { day: { type: "string" } } },
    },
  },
];
const user = (content) => ({ role: "user", content });

async function text(model) {
  const whole = await client.chat.completions.create({ model, messages: [user("text")] });
  const stream = await client.chat.completions.create({
    model,
    messages: [user("think")],
    stream: true,
    stream_options: { include_usage: true },
  });
  const report = { whole: whole.choices[0].message.content, said: "", thought: "" };
  for await (const chunk of stream) {
    const delta = chunk.choices[0]?.delta ?? {};
    report.said += delta.content ?? "";
    report.thought += delta.reasoning_content ?? "";
    report.finish = chunk.choices[0]?.finish_reason ?? report.finish;
    report.tokens = chunk.usage?.completion_tokens ?? report.tokens;
  }
  return report;
}

async function loop(model, word) {
  const runner = client.chat.completions.stream(
    { model, messages: [user(word)], tools },
    { query: { thinking_blocks: "true" } },
  );
  const message = await runner.finalMessage();
  const results = message.tool_calls.map((call, number) => ({
    role: "tool",
    tool_call_id: call.id,
    content: `noon ${number}`,
  }));
  const last = await client.chat.completions.create({
    model,
    messages: [user(word), message, ...results],
    tools,
  });
  return {
    days: message.tool_calls.map((call) => JSON.parse(call.function.arguments).day),
    found: last.choices[0].message.content,
  };
}

async function schema(model) {
  const asked = {
    type: "json_schema",
    json_schema: { name: "city", schema: { type: "object" }, strict: false },
  };
  const answer = await client.chat.completions.create({
    model,
    messages: [user("schema")],
    response_format: asked,
  });
  return JSON.parse(answer.choices[0].message.content);
}

async function image(model) {
  const url = "data:image/png;base64,iVBORw0KGgo=";
  const content = [{ type: "text", text: "text" }, { type: "image_url", image_url: { url } }];
  const answer = await client.chat.completions.create({ model, messages: [user(content)] });
  return answer.choices[0].message.content;
}

async function failure(model, word, stream) {
  const seen = [];
  try {
    const answer = await client.chat.completions.create({ model, messages: [user(word)], stream });
    if (stream) {
      for await (const chunk of answer) {
        seen.push(chunk.choices[0]?.delta?.content ?? "");
      }
    }
  } catch (error) {
    return { kind: error.constructor.name, status: error.status ?? null, said: seen.join("") };
  }
  return { kind: "none", said: seen.join("") };
}

async function leave(model) {
  const stream = await client.chat.completions.create({
    model,
    messages: [user("slow")],
    stream: true,
  });
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta?.content) {
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
  };
  if (model !== "helper") {
    report[model].loop = await loop(model, "parallel");
  }
}
report.models = (await client.models.list()).data.map((model) => model.id);
console.log(JSON.stringify(report));
