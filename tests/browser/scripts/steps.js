// Parts of reasoning, tools and texts, in the order in which they stand on the page.
() => {
  const root = document.querySelector("headrace-chat").shadowRoot;
  const text = (place, name) => place.querySelector(name)?.textContent ?? "";
  return [...root.querySelectorAll("[data-part], [data-tool], .text")].map((one) => {
    // Between a block and its buttons there is space that nobody sees.
    if (one.matches(".text")) return ["text", one.textContent.replace(/\s+/g, "")];
    if (one.matches("[data-part]")) return ["part", one.textContent.trim()];
    const names = [".tool-name", ".tool-args", ".tool-result", ".tool-error"];
    return ["tool", ...names.map((name) => text(one, name))];
  });
}
