/** Switches between a message and its siblings. */

import { html, nothing, type TemplateResult } from "lit";
import type { Chat } from "../core/chat.js";
import { siblings, type Node } from "../core/tree.js";
import { passFocus } from "./element.js";
import { icon } from "./icon.js";
import { t } from "../languages/language.js";

export function branchPicker(chat: Chat, node: Node): TemplateResult | typeof nothing {
  const all = chat.store.open ? siblings(chat.store.open.messages, node) : [];
  if (all.length < 2) return nothing;
  const place = all.findIndex((one) => one.id === node.id);
  const step = (by: number, label: string): TemplateResult => {
    const target = all[place + by];
    const turn = (event: Event): void => {
      if (!target) return;
      const root = (event.target as HTMLElement).getRootNode() as ShadowRoot;
      const buttons = `[data-versions="${target.id}"] :enabled`;
      void chat.turnTo(target.id);
      passFocus(() => root.querySelector<HTMLElement>(`${buttons}[aria-label="${label}"]`) ?? root.querySelector<HTMLElement>(buttons));
    };
    return html`<button class="quiet ${by < 0 ? "back" : ""}" type="button" aria-label=${label} ?disabled=${!target}
      @click=${turn}>${icon("chevron")}</button>`;
  };
  return html`<span class="branches" data-versions=${node.id} role="group" aria-label=${t.versions}>
    ${step(-1, t.earlierVersion)}<span class="place">${place + 1} / ${all.length}</span>${step(1, t.laterVersion)}
  </span>`;
}
