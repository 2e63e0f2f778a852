// What must never be on the page, whatever a model writes.
() => {
  const root = document.querySelector("headrace-chat").shadowRoot;
  const found = [];
  const tags = new Set("script iframe object embed form base link meta style template applet frame frameset audio video source track portal".split(" "));
  for (const one of root.querySelectorAll(".thread *, .sidebar *, header *")) {
    const isOurs = one.closest(".katex") || one.closest("form.rename, form.editor");
    if (tags.has(one.localName) && !isOurs) found.push(one.outerHTML.slice(0, 200));
    for (const { name, value } of one.attributes) {
      const isScript = name.startsWith("on") || /^\s*(javascript|vbscript|data:text)/i.test(value) && /^(href|src|action|xlink)/.test(name);
      const isClobber = (name === "id" || name === "name") && !isOurs;
      const isLoad = /^(src|srcset|poster|background|ping|formaction)$/.test(name) && !value.startsWith("data:image/");
      if (isScript || isClobber || isLoad) found.push(`${name}=${value}`.slice(0, 200));
    }
    if (one.closest(".block") && !isOurs && ["fixed", "absolute"].includes(getComputedStyle(one).position)) found.push(`out of its box: ${one.outerHTML.slice(0, 200)}`);
  }
  const { scrollWidth, clientWidth } = root.querySelector(".scroller");
  if (scrollWidth > clientWidth) found.push("wider than its box");
  return found;
}
