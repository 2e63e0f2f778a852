// Makes a page of somebody else, with the chat in it.
() => {
  document.body.innerHTML = "<h1>A page of somebody else</h1>";
  document.body.append(Object.assign(document.createElement("script"), { type: "module", src: "static/headrace.js" }));
  const chat = document.createElement("headrace-chat");
  chat.setAttribute("theme", "dark");
  chat.setAttribute("heading", "Ask the house");
  chat.style.height = "500px";
  chat.style.setProperty("--headrace-accent", "rgb(200, 80, 0)");
  document.body.append(chat);
}
