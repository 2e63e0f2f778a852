// The AI SDK's own client against a server: node ai_sdk.mjs URL
import assert from "node:assert/strict";
import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  parseJsonEventStream,
  readUIMessageStream,
  uiMessageChunkSchema,
} from "ai";
import { runChecks, until } from "./checks.mjs";

const url = process.argv[2];
const api = `${url}/api/ai-sdk/chat`;

class State {
  status = "ready";
  error = undefined;
  constructor(messages) {
    this.messages = messages;
  }
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.map((old, at) => (at === index ? structuredClone(message) : old));
  };
  snapshot = (value) => structuredClone(value);
}

// What useChat is built on, without React.
class Chat extends AbstractChat {
  constructor({ model, messages = [], ...init }) {
    const transport = new DefaultChatTransport({ api, body: { model } });
    super({ ...init, transport, state: new State(messages) });
  }
  get last() {
    return this.lastMessage;
  }
}

const stop = async (chat) => {
  const response = await fetch(`${api}/${encodeURIComponent(chat.id)}/stop`, { method: "POST" });
  assert.equal(response.status, 200);
  return response.json();
};
const text = (message) =>
  message.parts.filter((part) => part.type === "text").map((part) => part.text).join("");
const types = (message) => message.parts.map((part) => part.type);
const tool = (message, name) => message.parts.filter((part) => part.type === `tool-${name}`);
const chatId = () => `chat ${crypto.randomUUID()}/ä`;

// Reads a stream with the schema of every chunk.
const readChunks = async (response) => {
  assert.equal(response.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  assert.match(response.headers.get("content-type"), /^text\/event-stream/);
  const copy = response.clone();
  const chunks = [];
  const stream = parseJsonEventStream({ stream: response.body, schema: uiMessageChunkSchema });
  for await (const parsed of stream) {
    assert.ok(parsed.success, JSON.stringify(parsed));
    chunks.push(parsed.value);
  }
  assert.ok((await copy.text()).trimEnd().endsWith("data: [DONE]"));
  return chunks;
};
const post = (id, model, messages, more = {}) =>
  fetch(api, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id, model, messages, trigger: "submit-message", ...more }),
  });
const user = (words, id = crypto.randomUUID()) => ({
  id,
  role: "user",
  parts: [{ type: "text", text: words }],
});

await runChecks({
  "every chunk fits the schema": async () => {
    for (const model of ["all", "error", "refuse", "approval", "client-tool"]) {
      const chunks = await readChunks(await post(chatId(), model, [user("Go.")]));
      assert.equal(chunks[0].type, "start");
    }
  },

  "text, reasoning with its signature, and usage": async () => {
    const chat = new Chat({ id: chatId(), model: "all" });
    const statuses = [];
    chat.onData = (part) => statuses.push(part);
    await chat.sendMessage({ text: "Go." });
    assert.equal(chat.status, "ready");
    const [reasoning] = chat.last.parts.filter((part) => part.type === "reasoning");
    assert.equal(reasoning.text, "I should look it up.");
    assert.equal(typeof reasoning.providerMetadata.anthropic.signature, "string");
    assert.equal(reasoning.state, "done");
    assert.equal(text(chat.last), "Let me see.It is 3 and 7.");
    assert.ok(chat.last.metadata.usage.outputTokens > 0);
    assert.equal(chat.last.metadata.finishReason, "end_turn");
    assert.ok(!types(chat.last).includes("data-status"));
  },

  "parallel tools with progress": async () => {
    const chat = new Chat({ id: chatId(), model: "all" });
    await chat.sendMessage({ text: "Go." });
    const calls = tool(chat.last, "add");
    assert.deepEqual(calls.map((part) => part.input), [{ a: 1, b: 2 }, { a: 3, b: 4 }]);
    assert.deepEqual(calls.map((part) => part.output), [3, 7]);
    assert.deepEqual(calls.map((part) => part.state), ["output-available", "output-available"]);
    assert.notEqual(calls[0].toolCallId, calls[1].toolCallId);
    const [failed] = tool(chat.last, "fail");
    assert.equal(failed.state, "output-error");
    const chunks = await readChunks(await post(chatId(), "all", [user("Go.")]));
    const progress = chunks.filter((chunk) => chunk.preliminary);
    assert.ok(progress.length > 0);
    assert.equal(chunks.filter((chunk) => chunk.type === "data-status" && chunk.transient).length > 0, true);
  },

  "readUIMessageStream reads what the transport sends": async () => {
    const transport = new DefaultChatTransport({ api, body: { model: "all" } });
    const stream = await transport.sendMessages({
      chatId: chatId(),
      messages: [user("Go.")],
      trigger: "submit-message",
    });
    let last;
    for await (const message of readUIMessageStream({ stream, terminateOnError: true })) last = message;
    assert.equal(text(last), "Let me see.It is 3 and 7.");
  },

  "a conversation goes on, and an answer is written again": async () => {
    const chat = new Chat({ id: chatId(), model: "echo" });
    await chat.sendMessage({ text: "One" });
    await chat.sendMessage({ text: "Two" });
    assert.equal(text(chat.last), "One | Two");
    const before = chat.last.id;
    await chat.regenerate();
    assert.equal(text(chat.last), "One | Two");
    assert.notEqual(chat.last.id, before);
    await chat.regenerate({ messageId: chat.messages[1].id });
    assert.equal(text(chat.last), "One");
    assert.equal(chat.messages.length, 2);
    await chat.sendMessage({ text: "Three" });
    assert.equal(text(chat.last), "One | Three");
    await chat.sendMessage({ text: "Four", messageId: chat.messages[2].id });
    assert.equal(text(chat.last), "One | Four");
    await chat.sendMessage({ text: "Zero", messageId: chat.messages[0].id });
    assert.equal(text(chat.last), "Zero");
  },

  "the stored messages are those of the stream": async () => {
    for (const model of ["all", "echo"]) {
      const chat = new Chat({ id: chatId(), model });
      await chat.sendMessage({ text: "Go." });
      const response = await fetch(`${api}/${encodeURIComponent(chat.id)}/messages`);
      const { messages } = await response.json();
      const shown = (message) => [
        message.role,
        message.parts.map(({ type, text, input, output, state, toolCallId, errorText }) => ({
          type, text, input, output, toolCallId, errorText, state: message.role === "user" ? null : state,
        })),
      ];
      const plain = (value) => JSON.parse(JSON.stringify(value));
      assert.deepEqual(plain(messages.map(shown)), plain(chat.messages.map(shown)));
      assert.equal(messages[1].id, chat.last.id);
      assert.deepEqual(messages[1].metadata.usage, chat.last.metadata.usage);
      // A page that is loaded with them goes on.
      const page = new Chat({ id: chat.id, model, messages });
      await page.sendMessage({ text: "More." });
      assert.equal(page.status, "ready");
      assert.equal(page.messages.length, 4);
    }
  },

  "the same message sent twice is answered once": async () => {
    const id = chatId();
    const message = user("Once");
    const [one, two] = await Promise.all([post(id, "echo", [message]), post(id, "echo", [message])]);
    assert.deepEqual([one.status, two.status], [200, 200]);
    assert.equal(one.headers.get("x-event-id"), two.headers.get("x-event-id"));
    assert.deepEqual(await readChunks(one), await readChunks(two));
  },

  "images are sent on": async () => {
    const chat = new Chat({ id: chatId(), model: "echo" });
    const png = "data:image/png;base64,iVBORw0KGgo=";
    await chat.sendMessage({
      text: "What is this?",
      files: [{ type: "file", mediaType: "image/png", url: png }],
    });
    assert.equal(text(chat.last), "What is this?");
  },

  "an approval is asked for, and the answer goes on": async () => {
    for (const approved of [true, false]) {
      const chat = new Chat({
        id: chatId(),
        model: "approval",
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      });
      await chat.sendMessage({ text: "Pay." });
      const [asked] = tool(chat.last, "pay");
      assert.equal(asked.state, "approval-requested");
      const id = chat.last.id;
      await chat.addToolApprovalResponse({ id: asked.approval.id, approved, reason: "because" });
      await until(() => text(chat.last).endsWith("Done.") && chat.status === "ready", "the end");
      assert.equal(chat.last.id, id);
      assert.equal(chat.messages.length, 2);
      const [part] = tool(chat.last, "pay");
      assert.equal(part.state, approved ? "output-available" : "output-denied");
      assert.equal(part.approval.approved, approved);
    }
  },

  "a page that is loaded again shows what waits for approval": async () => {
    const chat = new Chat({ id: chatId(), model: "approval" });
    await chat.sendMessage({ text: "Pay." });
    const again = new Chat({
      id: chat.id,
      model: "approval",
      messages: chat.messages.slice(0, 1),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await again.resumeStream();
    assert.deepEqual(again.last.parts, chat.last.parts);
    const [asked] = tool(again.last, "pay");
    await again.addToolApprovalResponse({ id: asked.approval.id, approved: true });
    await until(() => text(again.last).endsWith("Done.") && again.status === "ready", "the end");
    await again.resumeStream();
    assert.equal(again.status, "ready");
  },

  "the client runs its own tool": async () => {
    const chat = new Chat({
      id: chatId(),
      model: "client-tool",
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => {
        if (toolCall.toolName !== "read_selection") return;
        void chat.addToolOutput({
          tool: toolCall.toolName,
          toolCallId: toolCall.toolCallId,
          output: { text: "a sonnet" },
        });
      },
    });
    await chat.sendMessage({ text: "What is this?" });
    await until(() => text(chat.last).includes("It is") && chat.status === "ready", "the end");
    assert.match(text(chat.last), /It is .*a sonnet/);
    assert.equal(chat.messages.length, 2);
  },

  "a client's tool that failed": async () => {
    const chat = new Chat({
      id: chatId(),
      model: "client-tool",
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    });
    await chat.sendMessage({ text: "What is this?" });
    const [part] = tool(chat.last, "read_selection");
    await chat.addToolOutput({
      tool: "read_selection",
      toolCallId: part.toolCallId,
      state: "output-error",
      errorText: "nothing is selected",
    });
    await until(() => text(chat.last).includes("It is") && chat.status === "ready", "the end");
    assert.match(text(chat.last), /nothing is selected/);
  },

  "errors before and in the stream": async () => {
    const unknown = new Chat({ id: chatId(), model: "none" });
    await unknown.sendMessage({ text: "Hi" });
    assert.equal(unknown.status, "error");
    assert.match(unknown.error.message, /^this server has no such model/);
    const empty = await post(chatId(), "echo", [user(" ")]);
    assert.equal(empty.status, 400);
    for (const model of ["refuse", "error"]) {
      const chat = new Chat({ id: chatId(), model });
      await chat.sendMessage({ text: "Hi" });
      assert.equal(chat.status, "error", model);
      assert.ok(chat.error.message.length > 0);
    }
  },

  "an answer that waits for nothing is not sent again": async () => {
    const id = chatId();
    const chunks = await readChunks(await post(id, "all", [user("Go.")]));
    const part = { type: "tool-add", toolCallId: "x", state: "output-available", input: {}, output: 3 };
    const response = await post(id, "all", [user("Go."), { id: chunks[0].messageId, role: "assistant", parts: [part] }]);
    assert.equal(response.status, 409);
    assert.equal(response.headers.get("x-error-code"), "nothing_waits");
  },

  "a resumed stream shows the whole answer": async () => {
    const chat = new Chat({ id: chatId(), model: "slow" });
    const sent = chat.sendMessage({ text: "Count." });
    await until(() => chat.last?.role === "assistant" && text(chat.last).length > 10, "some text");
    const page = new Chat({ id: chat.id, model: "slow", messages: chat.messages.slice(0, 1) });
    const resumed = page.resumeStream();
    await until(() => page.last?.role === "assistant" && text(page.last).length > 10, "the same text");
    // The first page is closed. The run goes on.
    await chat.stop();
    await Promise.all([sent, resumed]);
    assert.match(text(page.last), /^word 0 .*word 59 $/);
    assert.equal(page.last.id, chat.last.id);
    assert.equal(page.status, "ready");
    const late = await fetch(`${api}/${encodeURIComponent(chat.id)}/stream`);
    assert.equal(late.status, 204);
  },

  "stop stops an answer that was resumed": async () => {
    const chat = new Chat({ id: chatId(), model: "slow" });
    const sent = chat.sendMessage({ text: "Count." });
    await until(() => chat.last?.role === "assistant" && text(chat.last).length > 10, "some text");
    const page = new Chat({ id: chat.id, model: "slow", messages: chat.messages.slice(0, 1) });
    const resumed = page.resumeStream();
    await until(() => page.last?.role === "assistant" && text(page.last).length > 10, "the same text");
    assert.deepEqual(await stop(page), { was_live: true });
    await Promise.all([sent, resumed]);
    assert.equal(text(chat.last), text(page.last));
    assert.doesNotMatch(text(page.last), /word 59/);
    assert.deepEqual(await stop(page), { was_live: false });
    await page.sendMessage({ text: "Go on." });
    assert.match(text(page.last), /word 59 $/);
  },

  "a chat that does not exist has no stream": async () => {
    const chat = new Chat({ id: chatId(), model: "echo" });
    await chat.resumeStream();
    assert.equal(chat.status, "ready");
    assert.deepEqual(await stop(chat), { was_live: false });
  },

  "approvals of a sub-agent are answered at its call": async () => {
    const chat = new Chat({
      id: chatId(),
      model: "sub-agent",
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await chat.sendMessage({ text: "Delegate." });
    const [asked] = tool(chat.last, "research");
    assert.equal(asked.state, "approval-requested");
    assert.deepEqual(asked.approval.descriptor, { toolName: "pay", input: { amount: 5 } });
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true });
    await until(() => text(chat.last).endsWith("Done.") && chat.status === "ready", "the end");
  },
});
