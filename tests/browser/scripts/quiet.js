// Whether a draft is there and has not changed for a while: longer than the longest pause between two reads.
() => {
  const chat = document.querySelector("headrace-chat").chat;
  const draft = chat.bus.draft(chat.streamingId ?? "");
  const now = JSON.stringify(draft?.segments.map((one) => one.text ?? one.id) ?? null);
  const isSame = window.lastDraft === now;
  window.lastDraft = now;
  window.sameFor = isSame ? (window.sameFor ?? 0) + 1 : 0;
  return draft && window.sameFor > 20;
}
