// Uses the Responses API of a server through the `openai` package.

import assert from "node:assert/strict";

import OpenAI from "openai";
import { runChecks, until } from "./checks.mjs";

const [url] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
const tools = [
  {
    type: "function",
    name: "tides",
    parameters: { type: "object", properties: { day: { type: "string" } } },
    strict: false,
  },
];

async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

const checks = {
  async text() {
    const whole = await client.responses.create({ model: "helper", input: "text" });
    assert.equal(whole.output_text, "Hello from the script.");
    assert.equal(whole.usage.output_tokens, 7);
    assert.deepEqual((await client.responses.retrieve(whole.id)).output, whole.output);
  },

  async reasoning() {
    for (const model of ["helper", "claude", "o-model"]) {
      const stream = client.responses.stream({ model, input: "think", store: false });
      let thought = "";
      stream.on("event", (event) => {
        if (/^response\.reasoning_(summary_)?text\.delta$/.test(event.type)) thought += event.delta;
      });
      const final = await stream.finalResponse();
      assert.equal(final.output_text, "Done.");
      assert.equal(thought, "Let me see.");
    }
  },

  async tools() {
    for (const model of ["gpt", "claude", "o-model"]) {
      const first = await client.responses.create({ model, input: "parallel", tools });
      const calls = first.output.filter((item) => item.type === "function_call");
      assert.deepEqual(calls.map((call) => JSON.parse(call.arguments).day), ["today", "tomorrow"]);
      const second = await client.responses.create({
        model,
        tools,
        previous_response_id: first.id,
        input: calls.map((call, number) => ({
          type: "function_call_output",
          call_id: call.call_id,
          output: `noon ${number}`,
        })),
      });
      assert.equal(second.output_text, "Found: noon 0, noon 1.");
    }
  },

  async schema() {
    const answer = await client.responses.create({
      model: "helper",
      input: "schema",
      text: { format: { type: "json_schema", name: "city", schema: { type: "object" } } },
    });
    assert.deepEqual(JSON.parse(answer.output_text), { city: "Oslo", people: 700000 });
  },

  async image() {
    const image_url = "data:image/png;base64,iVBORw0KGgo=";
    const content = [
      { type: "input_text", text: "text" },
      { type: "input_image", image_url, detail: "auto" },
    ];
    const answer = await client.responses.create({
      model: "gpt",
      input: [{ role: "user", content }],
    });
    assert.equal(answer.output_text, "Hello from the script.");
  },

  async errors() {
    for (const store of [true, false]) {
      const refused = client.responses.create({ model: "helper", input: "refuse", store });
      await assert.rejects(refused, (error) => error.status === 429);
      const stream = await client.responses.create({
        model: "helper",
        input: "error",
        store,
        stream: true,
      });
      const last = (await collect(stream)).at(-1);
      assert.equal(last.type, "response.failed");
      assert.equal(last.response.error.code, "server_overloaded");
    }
  },

  async cancel() {
    const asked = { model: "helper", input: "slow", background: true };
    const begun = await client.responses.create(asked);
    await until(async () => {
      const now = await client.responses.retrieve(begun.id);
      return now.status === "in_progress";
    }, "begun");
    assert.equal((await client.responses.cancel(begun.id)).status, "cancelled");
  },

  async resume() {
    const asked = { model: "helper", input: "think", background: true, stream: true };
    const events = await collect(await client.responses.create(asked));
    const id = events[0].response.id;
    for (let at = 0; at < events.length; at += 3) {
      const query = { stream: true, starting_after: at };
      assert.deepEqual(await collect(await client.responses.retrieve(id, query)), events.slice(at + 1));
    }
  },
};

await runChecks(checks);
