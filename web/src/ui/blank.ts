/** The page before the first question: a heading, the model, and things to try. */

import { html, nothing, type TemplateResult } from "lit";
import type { Chat } from "../core/chat.js";
import { t } from "../languages/language.js";

export function blank(chat: Chat, heading: string): TemplateResult | typeof nothing {
  const model = chat.choice.chosen;
  if (!model) return chat.problem ? nothing : skeleton(t.loading);
  const cards = model.is_rehearsal ? t.rehearsalCards : t.cards;
  return html`<section class="hello">
    <h2>${heading}</h2>
    <p>${model.model}${model.is_rehearsal ? t.rehearsal : ""}</p>
    <ul>${cards.map(([title, text]) => html`<li><button type="button" @click=${() => void chat.asking.send(text)}><strong>${title}</strong><span>${text}</span></button></li>`)}</ul>
  </section>`;
}

/** Something that is being loaded. */
export function skeleton(label: string): TemplateResult {
  return html`<div class="skeletons thread-skeleton" role="status" aria-label=${label}>
    <span class="skeleton asked"></span><span class="skeleton"></span><span class="skeleton"></span><span class="skeleton"></span>
  </div>`;
}
