// AG-UI's own client against a server: node ag_ui.mjs URL
import assert from "node:assert/strict";
import { HttpAgent, verifyEvents, buildResumeArray } from "@ag-ui/client";
import { EventSchema } from "@ag-ui/core/schemas";
import { from, lastValueFrom, toArray } from "rxjs";
import { runChecks, until } from "./checks.mjs";

const url = `${process.argv[2]}/api/ag-ui`;
const warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));

const agentFor = (model, threadId = crypto.randomUUID()) =>
  new HttpAgent({ url: `${url}?model=${model}`, threadId });
const say = (agent, content) =>
  agent.messages.push({ id: crypto.randomUUID(), role: "user", content });
const watch = () => {
  const events = [];
  return { events, subscriber: { onEvent: ({ event }) => void events.push(event) } };
};
const run = async (agent, content, parameters = {}) => {
  if (content !== undefined) say(agent, content);
  const { events, subscriber } = watch();
  await agent.runAgent(parameters, subscriber);
  return events;
};
const text = (agent) =>
  agent.messages.filter((m) => m.role === "assistant" && !m.subagentRunId).map((m) => m.content ?? "").join("");
const end = (events) => events.at(-1);
const post = (body, model = "echo") =>
  fetch(`${url}?model=${model}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
const input = (messages, more = {}) => ({
  threadId: crypto.randomUUID(),
  runId: crypto.randomUUID(),
  messages,
  tools: [],
  context: [],
  state: {},
  forwardedProps: {},
  ...more,
});
const read = async (response) => {
  assert.match(response.headers.get("content-type"), /^text\/event-stream/);
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => JSON.parse(line.slice(6)));
};

await runChecks({
  "every event fits the schema and the order": async () => {
    for (const model of ["all", "error", "refuse", "approval", "client-tool", "sub-agent"]) {
      const events = await read(await post(input([{ id: "u", role: "user", content: "Go." }]), model));
      for (const event of events) EventSchema.parse(event);
      await lastValueFrom(from(events).pipe(verifyEvents(), toArray()));
      assert.equal(events[0].type, "RUN_STARTED");
    }
  },

  "text, reasoning, tools and usage": async () => {
    const agent = agentFor("all");
    const events = await run(agent, "Go.");
    assert.equal(text(agent), "Let me see.It is 3 and 7.");
    const [reasoning] = agent.messages.filter((message) => message.role === "reasoning");
    assert.equal(reasoning.content, "I should look it up.");
    assert.equal(typeof reasoning.encryptedValue, "string");
    const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
    assert.deepEqual(calls.map((call) => call.function.name), ["add", "add", "fail"]);
    assert.deepEqual(JSON.parse(calls[0].function.arguments), { a: 1, b: 2 });
    const results = agent.messages.filter((message) => message.role === "tool");
    assert.deepEqual(results.slice(0, 2).map((message) => message.content), ["3", "7"]);
    assert.equal(end(events).outcome.type, "success");
    assert.ok(end(events).usage[0].outputTokens > 0);
    assert.ok(events.some((event) => event.type === "ACTIVITY_SNAPSHOT"));
    assert.ok(events.some((event) => event.type === "CUSTOM" && event.name === "status"));
  },

  "a conversation goes on": async () => {
    const agent = agentFor("echo");
    await run(agent, "One");
    await run(agent, "Two");
    assert.equal(agent.messages.at(-1).content, "One | Two");
    // The client takes the last exchange back and asks something else.
    agent.messages = agent.messages.slice(0, 2);
    await run(agent, "Three");
    assert.equal(agent.messages.at(-1).content, "One | Three");
  },

  "images and context are sent on": async () => {
    const agent = agentFor("echo");
    const source = { type: "data", value: "iVBORw0KGgo=", mimeType: "image/png" };
    await run(agent, [{ type: "text", text: "What?" }, { type: "image", source }]);
    assert.equal(agent.messages.at(-1).content, "What?");
    const context = [{ description: "page", value: "the cart" }];
    const told = agentFor("context");
    await run(told, "Hi", { context });
    assert.match(text(told), /page:\s+the cart/);
  },

  "the same run sent twice is one run": async () => {
    const body = input([{ id: "u", role: "user", content: "Once" }]);
    const [one, two] = await Promise.all([post(body), post(body)]);
    assert.equal(one.headers.get("x-event-id"), two.headers.get("x-event-id"));
    assert.deepEqual(await read(one), await read(two));
  },

  "an interrupt is answered by a new run": async () => {
    for (const approved of [true, false]) {
      const agent = agentFor("approval");
      const events = await run(agent, "Pay.");
      assert.equal(end(events).outcome.type, "interrupt");
      const [interrupt] = agent.pendingInterrupts;
      const call = agent.messages.flatMap((message) => message.toolCalls ?? [])[0];
      assert.equal(interrupt.toolCallId, call.id);
      const responses = { [interrupt.id]: { status: "resolved", payload: { approved } } };
      const resume = buildResumeArray(agent.pendingInterrupts, responses);
      const more = await run(agent, undefined, { resume });
      assert.notEqual(more[0].runId, events[0].runId);
      assert.equal(end(more).outcome.type, "success");
      const result = agent.messages.find((message) => message.role === "tool");
      assert.equal(result.content.includes("paid 5"), approved);
      assert.match(text(agent), /Done\.$/);
    }
  },

  "a front-end tool is run by the client": async () => {
    const agent = agentFor("front-end");
    const tools = [
      { name: "pick_color", description: "Pick a color.", parameters: { type: "object", properties: {} } },
    ];
    const events = await run(agent, "Pick.", { tools });
    const call = agent.messages.flatMap((message) => message.toolCalls ?? [])[0];
    assert.equal(call.function.name, "pick_color");
    assert.deepEqual(end(events).outcome, { type: "success", pendingToolCallIds: [call.id] });
    agent.messages.push({ id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content: "teal" });
    await run(agent, undefined, { tools });
    assert.match(text(agent), /teal/);
  },

  "sub-agents are shown": async () => {
    const agent = agentFor("sub-agent");
    const events = await run(agent, "Delegate.");
    const [started] = events.filter((event) => event.type === "SUBAGENT_STARTED");
    assert.equal(started.name, "research");
    const [interrupt] = agent.pendingInterrupts;
    assert.equal(interrupt.subagentRunId, started.subagentRunId);
    const resume = [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }];
    const more = await run(agent, undefined, { resume });
    assert.equal(end(more).outcome.type, "success");
    assert.ok(more.some((event) => event.type === "SUBAGENT_FINISHED" && event.outcome.type === "success"));
    assert.match(text(agent), /Done\.$/);
  },

  "errors before and in the stream": async () => {
    await assert.rejects(run(agentFor("none"), "Hi"), /HTTP 422: .*no such model/);
    const response = await post(input([]));
    assert.equal(response.status, 400);
    assert.equal((await response.json()).type, "RUN_ERROR");
    for (const model of ["refuse", "error"]) {
      const agent = agentFor(model);
      const { events, subscriber } = watch();
      say(agent, "Hi");
      await agent.runAgent({}, subscriber).catch(() => {});
      assert.equal(end(events).type, "RUN_ERROR");
    }
  },

  "the run goes on when its client leaves, and can be read again": async () => {
    const agent = agentFor("slow");
    say(agent, "Count.");
    const runId = crypto.randomUUID();
    const running = agent.runAgent({ runId });
    await until(() => text(agent).length > 10, "some text");
    agent.abortRun();
    await running.catch(() => {});
    const messages = agent.messages.filter((message) => message.role === "user");
    const events = await read(await post(input(messages, { threadId: agent.threadId, runId }), "slow"));
    const words = events.map((event) => event.delta ?? "").join("");
    assert.match(words, /^word 0 .*word 59 $/);
    assert.equal(end(events).type, "RUN_FINISHED");
  },

  "a stop stops": async () => {
    const agent = agentFor("slow");
    say(agent, "Count.");
    const { events, subscriber } = watch();
    const running = agent.runAgent({}, subscriber);
    await until(() => text(agent).length > 10, "some text");
    const response = await fetch(`${url}/${agent.threadId}/stop`, { method: "POST" });
    assert.deepEqual(await response.json(), { was_live: true });
    await running;
    assert.equal(end(events).outcome.type, "cancelled");
    assert.doesNotMatch(text(agent), /word 59/);
    await run(agent, "Go on.");
    assert.match(text(agent), /word 59 $/);
  },

  "nothing was dropped by the client": async () => {
    assert.deepEqual(warnings.filter((warning) => warning.includes("[ag-ui]")), []);
  },
});
