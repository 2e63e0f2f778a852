// Where the words are.
() => {
  const root = document.querySelector("headrace-chat").shadowRoot;
  return [...root.querySelectorAll(".text, .said")].map((one) => {
    const { top, left } = one.getBoundingClientRect();
    return [Math.round(top), Math.round(left)];
  });
}
