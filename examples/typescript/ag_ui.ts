// A conversation over AG-UI: asks an agent twice, reads a run again, and stops one.
//
//   headrace serve &                     # the rehearsal model on port 8700
//   npm install @ag-ui/client@1          # Node 22.18 or later runs TypeScript as it is
//   node ag_ui.ts http://127.0.0.1:8700
import { HttpAgent } from "@ag-ui/client";

const url = `${process.argv[2] ?? "http://127.0.0.1:8700"}/api/ag-ui`;
const threadId = crypto.randomUUID();
const agent = new HttpAgent({ url, threadId });

// Asks, and returns the text of the answer and the names of the tools that were called.
async function ask(content: string, runId: string = crypto.randomUUID()) {
  const tools: string[] = [];
  agent.messages.push({ id: crypto.randomUUID(), role: "user", content });
  const { newMessages } = await agent.runAgent(
    { runId },
    { onToolCallStartEvent: ({ event }) => void tools.push(event.toolCallName) },
  );
  const answers = newMessages.filter((message) => message.role === "assistant");
  return { text: answers.map((message) => message.content ?? "").join(""), tools };
}

const first = await ask("What is 6 * 7?");
console.log(`tools: ${first.tools.join(", ")}`);
console.log(`42 in the answer: ${first.text.includes("42")}`);

// A client that lost the connection sends the same run again, and gets the same answer.
const history = [...agent.messages];
const runId = crypto.randomUUID();
const second = await ask("Tell me about the tides.", runId);
agent.messages = history;
const again = await ask("Tell me about the tides.", runId);
console.log(`the same answer: ${second.text === again.text}`);

// Leaving does not stop a run; this does. Everybody who reads the run sees how it ends.
let outcome: string | undefined;
agent.messages.push({ id: crypto.randomUUID(), role: "user", content: "Tell me about the tides, in detail." });
await agent.runAgent(
  {},
  {
    onTextMessageStartEvent: async () => {
      await fetch(`${url}/${threadId}/stop`, { method: "POST" });
    },
    onRunFinishedEvent: ({ event }) => void (outcome = event.outcome?.type),
  },
);
console.log(`the outcome: ${outcome}`);
