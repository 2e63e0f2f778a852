/** A button that copies a text and confirms it. */

import { html, type TemplateResult } from "lit";
import { icon } from "./icon.js";
import { t } from "../languages/language.js";

const SHOWN_MS = 1_600;

export function copyButton(text: () => string, label: string): TemplateResult {
  return html`<button class="quiet copy" type="button" aria-label=${label} title=${label} @click=${(event: Event) => void copy(event, text())}>
    <span class="copy-icon">${icon("copy")}</span><span class="done-icon">${icon("check")}</span>
  </button>`;
}

async function copy(event: Event, text: string): Promise<void> {
  const button = event.currentTarget as HTMLElement;
  await write(text, button);
  button.classList.add("done");
  button.dispatchEvent(new CustomEvent("headrace-announce", { detail: t.copied, bubbles: true, composed: true }));
  setTimeout(() => button.classList.remove("done"), SHOWN_MS);
}

async function write(text: string, near: HTMLElement): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Insecure pages have no clipboard API; the old command still works there.
  const area = document.createElement("textarea");
  area.value = text;
  near.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
