/** Scrolls to a message that a search has found, and marks the words in it. */

import type { AssistantMessage } from "./assistant-message.js";
import type { UserMessage } from "./user-message.js";

const NAME = "headrace-found";
/** How long to wait for the message to be drawn. */
const PATIENCE_MS = 3_000;

export async function reveal(root: ParentNode, messageId: string, words: string): Promise<void> {
  const all = root.querySelectorAll<UserMessage | AssistantMessage>("headrace-user-message, headrace-assistant-message");
  const message = [...all].find((one) => ("message" in one ? one.message.id : one.eventId) === messageId);
  if (!message) return;
  await message.updateComplete;
  const ranges = await whenDrawn(() => findWords(message, words));
  if (CSS.highlights) CSS.highlights.set(NAME, new Highlight(...ranges));
  const place = ranges[0]?.startContainer.parentElement ?? message;
  place.scrollIntoView({ block: "center" });
}

/** Markdown is drawn a moment after its message. */
async function whenDrawn(find: () => Range[]): Promise<Range[]> {
  const end = performance.now() + PATIENCE_MS;
  let found = find();
  while (found.length === 0 && performance.now() < end) {
    await new Promise(requestAnimationFrame);
    found = find();
  }
  return found;
}

function findWords(message: Element, words: string): Range[] {
  const wanted = fold(words).split(/\s+/).filter(Boolean);
  const texts = document.createTreeWalker(message, NodeFilter.SHOW_TEXT, {
    acceptNode: (node) => (node.parentElement?.closest("button, .foot, summary") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT),
  });
  const ranges: Range[] = [];
  while (texts.nextNode()) ranges.push(...rangesIn(texts.currentNode as Text, wanted));
  return ranges;
}

function rangesIn(node: Text, wanted: readonly string[]): Range[] {
  const text = fold(node.data);
  // Where folding changes the length, places in the text are not those of the words.
  if (text.length !== node.data.length) return [];
  return wanted.flatMap((word) => {
    const ranges: Range[] = [];
    for (let place = text.indexOf(word); place >= 0; place = text.indexOf(word, place + word.length)) {
      const range = new Range();
      range.setStart(node, place);
      range.setEnd(node, place + word.length);
      ranges.push(range);
    }
    return ranges;
  });
}

/** Without case and accents. */
function fold(text: string): string {
  return [...text.toLowerCase()].map((one) => one.normalize("NFD")[0] ?? one).join("");
}
