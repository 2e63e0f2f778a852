// Counts what a stream does to the page, in window.counts.
() => {
  const { chat, shadowRoot } = document.querySelector("headrace-chat");
  const counts = { reads: 0, drawings: 0, stepStyles: 0, insertions: 0, made: new Set(), isWritten: false };
  window.counts = counts;
  const read = () => {
    const text = chat.bus.draft(chat.streamingId)?.segments.at(-1).text;
    counts.reads += 1;
    counts.isWritten = text?.includes("Paragraph 299 has *some* words") ?? false;
  };
  const watch = () => (chat.streamingId ? chat.bus.watch(chat.streamingId, read) : setTimeout(watch, 1));
  watch();
  new MutationObserver((changes) => {
    if (changes.some(({ target }) => target.closest("headrace-markdown"))) counts.drawings += 1;
    for (const { type, target, addedNodes } of changes) {
      if (type === "attributes" && target.localName === "headrace-steps-panel") counts.stepStyles += 1;
      const blocks = [...addedNodes].filter((one) => one.className === "block");
      if (blocks.length > 0) counts.insertions += 1;
      for (const one of blocks) counts.made.add(one);
    }
  }).observe(shadowRoot, { subtree: true, childList: true, attributeFilter: ["style"] });
}
