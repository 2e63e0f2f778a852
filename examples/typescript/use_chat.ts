// A chat without React: asks an agent over the AI SDK, loads the page again, and stops an answer.
//
//   headrace serve &                     # the rehearsal model on port 8700
//   npm install ai@7                     # Node 22.18 or later runs TypeScript as it is
//   node use_chat.ts http://127.0.0.1:8700
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";

const api = `${process.argv[2] ?? "http://127.0.0.1:8700"}/api/ai-sdk/chat`;
const transport = new DefaultChatTransport({ api });
const chatId = crypto.randomUUID();
const messages: UIMessage[] = [];

function textOf(message: UIMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

// Sends a question and returns the stream of the answer.
async function ask(text: string) {
  messages.push({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
  const trigger = "submit-message" as const;
  return transport.sendMessages({ chatId, messages, trigger, messageId: undefined, abortSignal: undefined });
}

// Reads an answer to its end and returns it.
async function read(stream: Awaited<ReturnType<typeof ask>>): Promise<UIMessage> {
  let answer: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) answer = message;
  if (answer === undefined) throw new Error("the stream has no message");
  return answer;
}

const answer = await read(await ask("What is 6 * 7?"));
messages.push(answer);
const tools = answer.parts.filter((part) => part.type.startsWith("tool-"));
console.log(`tools: ${tools.map((part) => part.type.slice(5)).join(", ")}`);
console.log(`42 in the answer: ${textOf(answer).includes("42")}`);

// The page is loaded again while an answer is written: both streams show the same.
const first = await ask("Tell me about the tides.");
const second = await transport.reconnectToStream({ chatId });
if (second === null) throw new Error("no answer is being written");
const [one, two] = await Promise.all([read(first), read(second)]);
messages.push(one);
console.log(`the same answer: ${one.id === two.id && textOf(one) === textOf(two)}`);

// Leaving a page does not stop an answer; this does.
const long = await ask("Tell me about the tides, in detail.");
const stopped = read(long);
await fetch(`${api}/${chatId}/stop`, { method: "POST" });
await stopped;
console.log(`still being written: ${(await transport.reconnectToStream({ chatId })) !== null}`);
