// Shows the notes beside the chat, and updates them every second.

const list = document.querySelector("aside ul");
let shown = "";

async function refresh() {
  const json = await (await fetch("notes")).text();
  if (json === shown) return;
  shown = json;
  list.replaceChildren(...JSON.parse(json).map(card));
}

// A model wrote the notes, so they are inserted as text, never as markup.
function card(note) {
  const content = element("pre", note.content);
  const pin = element("button", note.is_pinned ? "Unpin" : "Pin");
  pin.setAttribute("aria-pressed", note.is_pinned);
  pin.onclick = () => togglePin(note);
  const head = element("h2", note.title);
  head.append(pin);
  const item = document.createElement("li");
  item.append(head, content);
  return item;
}

async function togglePin(note) {
  const method = note.is_pinned ? "DELETE" : "PUT";
  await fetch(`pins/${encodeURIComponent(note.title)}`, { method });
  await refresh();
}

function element(name, text) {
  const node = document.createElement(name);
  node.textContent = text;
  return node;
}

setInterval(() => document.hidden || refresh().catch(() => {}), 1000);
refresh();
