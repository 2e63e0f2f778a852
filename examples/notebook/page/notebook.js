// The notes beside the chat. What the agent writes shows within a second, and a pin keeps it off.

const list = document.querySelector("aside ul");
let shown = "";

async function refresh() {
  const told = await (await fetch("notes")).text();
  if (told === shown) return;
  shown = told;
  list.replaceChildren(...JSON.parse(told).map(card));
}

// A model wrote these words: they are text, and never markup.
function card(note) {
  const content = element("pre", note.content);
  const pin = element("button", note.is_pinned ? "Unpin" : "Pin");
  pin.setAttribute("aria-pressed", note.is_pinned);
  pin.onclick = () => turn(note);
  const head = element("h2", note.title);
  head.append(pin);
  const item = document.createElement("li");
  item.append(head, content);
  return item;
}

async function turn(note) {
  const method = note.is_pinned ? "DELETE" : "PUT";
  await fetch(`pins/${encodeURIComponent(note.title)}`, { method });
  await refresh();
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

setInterval(() => document.hidden || refresh().catch(() => {}), 1000);
refresh();
