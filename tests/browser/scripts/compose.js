// Escape and Enter, as an input method sends them to what has the focus.
() => {
  const place = document.querySelector("headrace-chat").shadowRoot.activeElement;
  const init = { isComposing: true, bubbles: true, composed: true, cancelable: true };
  for (const key of ["Escape", "Enter"]) place.dispatchEvent(new KeyboardEvent("keydown", { ...init, key }));
}
