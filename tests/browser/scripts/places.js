// Where the words are: every element of every text, and the row below it.
() => {
  const root = document.querySelector("headrace-chat").shadowRoot;
  const found = root.querySelectorAll(".said, .text, .text .block > *, .text figure pre, .assistant .foot");
  return [...found].map((one) => {
    const { top, left } = one.getBoundingClientRect();
    return [one.localName, Math.round(top), Math.round(left)];
  });
}
