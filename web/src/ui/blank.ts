/** The page before the first question: a heading, the model, and things to try. */

import { html, nothing, type TemplateResult } from "lit";
import type { Chat } from "../core/chat.js";

interface Card {
  readonly title: string;
  readonly text: string;
}

const REHEARSAL_CARDS: readonly Card[] = [
  { title: "Calculate", text: "What is 12 × 34 + 5?" },
  { title: "Use two tools at once", text: "What time is it, and how much is 2^10? Ask both, parallel." },
  { title: "Write at length", text: "Tell me how a water mill works, long and in detail." },
  { title: "Search first", text: "What is new in Oslo? Use web search." },
];
const CARDS: readonly Card[] = [
  { title: "Compare", text: "Which is better for sorting a file larger than memory: merge sort or a database?" },
  { title: "Explain", text: "Explain to a ten-year-old how a water mill works." },
  { title: "Calculate", text: "What is 17 % of 2,340, and how did you get there?" },
  { title: "Plan", text: "Plan three days in Oslo in November, mostly indoors." },
];

export function blank(chat: Chat, heading: string): TemplateResult | typeof nothing {
  const model = chat.choice.chosen;
  if (!model) return chat.problem ? nothing : skeleton("Loading");
  const cards = model.is_rehearsal ? REHEARSAL_CARDS : CARDS;
  return html`<section class="hello">
    <h2>${heading}</h2>
    <p>${model.model}${model.is_rehearsal ? ": a stand-in that rehearses answers. No language model reads what you write." : ""}</p>
    <ul>${cards.map(({ title, text }) => html`<li><button type="button" @click=${() => void chat.send(text)}><strong>${title}</strong><span>${text}</span></button></li>`)}</ul>
  </section>`;
}

/** Something that is being loaded. */
export function skeleton(label: string): TemplateResult {
  return html`<div class="skeletons thread-skeleton" role="status" aria-label=${label}>
    <span class="skeleton asked"></span><span class="skeleton"></span><span class="skeleton"></span><span class="skeleton"></span>
  </div>`;
}
