// The name of what has the focus.
() => {
  let one = document.activeElement;
  while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
  if (!one || one === document.body) return "nothing";
  return one.getAttribute("aria-label") || one.textContent.trim();
}
