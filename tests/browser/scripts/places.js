// Where the words on the screen are: every element of every text, and the row below it.
() => {
  const root = document.querySelector("headrace-chat").shadowRoot;
  const found = root.querySelectorAll(".said, .text, .text .block > *, .text figure pre, .assistant .foot");
  const view = root.querySelector(".scroller").getBoundingClientRect();
  const places = [...found].map((one) => ({ name: one.localName, ...one.getBoundingClientRect().toJSON() }));
  const seen = places.filter(({ top, bottom }) => top >= view.top && bottom <= view.bottom);
  return seen.map(({ name, top, left }) => [name, Math.round(top), Math.round(left)]);
}
