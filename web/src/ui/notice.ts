/** Where an answer broke off: what happened, what to do, and a button that does it. */

import { html, nothing, type TemplateResult } from "lit";
import type { Advice } from "../core/advice.js";
import type { MessageEvent } from "../core/event.js";
import { icon } from "./icon.js";

export function notice(advice: Advice, event: MessageEvent, retry: (() => void) | undefined): TemplateResult {
  const details = [advice.detail, event.run_id ? `Run ${event.run_id}` : ""].filter((one) => one !== "");
  return html`<div class="notice ${advice.isError ? "error" : ""}">
    <div class="notice-line">
      ${advice.isError ? icon("warning") : nothing}
      <p><strong>${advice.what}</strong> ${advice.todo}</p>
      ${retry ? html`<button class="plain" type="button" @click=${retry}>Try again</button>` : nothing}
    </div>
    ${advice.isError && details.length > 0
      ? html`<details><summary>Details</summary>${details.map((one) => html`<p class="detail">${one}</p>`)}</details>`
      : nothing}
  </div>`;
}
