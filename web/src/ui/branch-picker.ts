/** Turns between a message and its siblings: answers given again, questions asked in other words. */

import { html, nothing, type TemplateResult } from "lit";
import type { Chat } from "../core/chat.js";
import { siblings, type Node } from "../core/tree.js";
import { icon } from "./icon.js";

export function branchPicker(chat: Chat, node: Node): TemplateResult | typeof nothing {
  const all = chat.store.open ? siblings(chat.store.open.messages, node) : [];
  if (all.length < 2) return nothing;
  const place = all.findIndex((one) => one.id === node.id);
  const step = (by: number, label: string): TemplateResult => {
    const target = all[place + by];
    return html`<button class="quiet ${by < 0 ? "back" : ""}" type="button" aria-label=${label} ?disabled=${!target}
      @click=${() => target && void chat.turnTo(target.id)}>${icon("chevron")}</button>`;
  };
  return html`<span class="branches" role="group" aria-label="Versions">
    ${step(-1, "Earlier version")}<span class="place">${place + 1} / ${all.length}</span>${step(1, "Later version")}
  </span>`;
}
