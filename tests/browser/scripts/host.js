// Makes a page of somebody else with chats in it, and keeps what they tell in window.told.
({ count, width, attributes, above = 0, token }) => {
  window.told = [];
  document.title = "A page of somebody else";
  document.documentElement.lang = "en";
  document.body.innerHTML = "";
  document.body.append(Object.assign(document.createElement("header"), { textContent: "A page of somebody else" }));
  document.body.firstChild.style.height = `${above || 40}px`;
  document.body.append(Object.assign(document.createElement("script"), { type: "module", src: "static/headrace.js" }));
  for (let number = 0; number < count; number += 1) {
    const chat = document.createElement("headrace-chat");
    for (const [name, value] of Object.entries(attributes)) chat.setAttribute(name, value);
    for (const name of ["answer-started", "answer-finished", "input-requested", "error", "conversation-changed"]) {
      chat.addEventListener(name, (event) => window.told.push({ type: event.type, detail: { ...event.detail, error: undefined } }));
    }
    if (token) chat.accessToken = async () => token;
    Object.assign(chat.style, { display: "block", width: `${width}px`, height: "500px", float: "left" });
    document.body.append(chat);
  }
}
