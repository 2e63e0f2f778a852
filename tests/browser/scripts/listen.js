// Hears what the live region says.
() => {
  window.said = [];
  const place = document.querySelector("headrace-chat").shadowRoot.querySelector(".live-region");
  new MutationObserver(() => window.said.push(place.textContent)).observe(place, { childList: true, characterData: true, subtree: true });
}
