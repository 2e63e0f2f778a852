// The words on the screen, and where: what a reader would see move.
() => {
  const root = document.querySelector("headrace-chat").shadowRoot;
  const view = root.querySelector(".scroller").getBoundingClientRect();
  const found = [...root.querySelectorAll(".said, .text .block > *")].map((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return [one.textContent, top, bottom];
  });
  return found.filter(([, top, bottom]) => bottom > view.top && top < view.bottom);
}
