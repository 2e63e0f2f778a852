// What count.js has counted, and how many blocks there are: in all, and near the end of each text.
() => {
  const root = document.querySelector("headrace-chat").shadowRoot;
  const views = [...root.querySelectorAll("headrace-markdown")];
  const near = views.map((view) => view.querySelectorAll(".page:not(.far) > .block").length);
  const blocks = root.querySelectorAll(".block").length;
  return { ...window.counts, made: window.counts.made.size, blocks, near };
}
