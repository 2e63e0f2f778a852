"""A plain page that shows the stream, until the real one is built: enough to try a server."""

from __future__ import annotations

PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Headrace</title>
<link rel="stylesheet" href="page.css">
<main>
  <h1>Headrace</h1>
  <p class="hint">A plain page: what the server streams, as it comes.</p>
  <div id="talk" aria-live="off"></div>
  <form id="form">
    <textarea id="words" rows="2" placeholder="Ask something" aria-label="Message"></textarea>
    <button id="send">Send</button>
    <button id="stop" type="button" hidden>Stop</button>
  </form>
</main>
<script type="module" src="page.js"></script>
</html>
"""

STYLE = """\
:root { color-scheme: light dark; --ink: #1f2328; --dim: #667085; --line: #d9dee5;
  --paper: #fff; --accent: #1d5fbf; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --dim: #98a2b3; --line: #333a44; --paper: #14171b; --accent: #7db0ff; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 44rem; margin: 0 auto; padding: 2rem 1rem 8rem; }
h1 { font-size: 1.25rem; margin: 0; }
.hint, .status, .thinking { color: var(--dim); }
.user { margin: 1.5rem 0 .75rem; padding: .6rem .9rem; border: 1px solid var(--line);
  border-radius: .75rem; white-space: pre-wrap; }
.status { font-size: .9rem; }
.thinking { font-size: .9rem; white-space: pre-wrap; max-height: 9rem; overflow: auto;
  border-left: 2px solid var(--line); padding-left: .75rem; margin: .25rem 0 .75rem; }
.text { white-space: pre-wrap; }
.error { color: #c0362c; }
form { position: fixed; inset: auto 0 0; background: var(--paper);
  border-top: 1px solid var(--line); padding: .75rem max(1rem, calc(50vw - 22rem));
  display: flex; gap: .5rem; }
textarea { flex: 1; font: inherit; color: inherit; background: transparent; resize: none;
  border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem; }
button { font: inherit; border: 0; border-radius: .5rem; padding: 0 1.1rem;
  background: var(--accent); color: var(--paper); }
"""

SCRIPT = """\
const byId = (id) => document.getElementById(id);
const talk = byId("talk");
let conversation = null;
let live = null;

const add = (kind, text = "") => {
  const element = document.createElement("div");
  element.className = kind;
  element.textContent = text;
  talk.append(element);
  return element;
};

// Frames of server-sent events, however the bytes are cut.
async function* framesOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const parts = rest.split("\\n\\n");
    rest = parts.pop();
    for (const part of parts) {
      const fields = Object.fromEntries(part.split("\\n").map((line) => {
        const colon = line.indexOf(": ");
        return [line.slice(0, colon), line.slice(colon + 2)];
      }));
      if (fields.data !== undefined) yield fields;
    }
  }
}

async function watch(response) {
  const status = add("status", "Thinking");
  const thinking = add("thinking");
  const text = add("text");
  for await (const { data } of framesOf(response)) {
    if (data === "[DONE]") break;
    const frame = JSON.parse(data);
    if (frame.type === "status") status.textContent = frame.description;
    if (frame.type === "thinking_delta") {
      thinking.textContent += frame.content;
      thinking.scrollTop = thinking.scrollHeight;
    }
    if (frame.type === "text_delta") text.textContent += frame.content;
    if (frame.type === "thinking_complete") {
      status.textContent = `Thought for ${Math.max(1, frame.duration)} s`;
    }
    if (frame.type === "error") add("error", frame.message);
    if (frame.type === "cancelled") add("status", "Stopped.");
  }
  if (!thinking.textContent) { thinking.remove(); status.remove(); }
}

byId("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const words = byId("words").value.trim();
  if (!words || live) return;
  byId("words").value = "";
  add("user", words);
  const body = { message: words };
  if (conversation) body.conversation_id = conversation;
  const response = await fetch("api/chat?protocol=thinking", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    add("error", (await response.json()).error.message);
    return;
  }
  conversation = response.headers.get("x-conversation-id");
  live = response.headers.get("x-event-id");
  byId("stop").hidden = false;
  await watch(response);
  live = null;
  byId("stop").hidden = true;
});

byId("stop").addEventListener("click", () => {
  if (live) fetch(`api/chat/${live}/cancel`, { method: "POST" });
});

byId("words").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    byId("form").requestSubmit();
  }
});
"""
