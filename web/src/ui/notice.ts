/** An error notice: what happened, what to do, and a button that does it. */

import { html, nothing, type TemplateResult } from "lit";
import type { Advice } from "../core/advice.js";
import { Refused } from "../core/api.js";
import type { MessageEvent } from "../core/event.js";
import { icon } from "./icon.js";

/** The notice of an answer that did not end normally. */
export function notice(advice: Advice, event: MessageEvent, retry: (() => void) | undefined): TemplateResult {
  const run = event.run_id ? `Run ${event.run_id}` : "";
  return told(advice.isError, advice.what, advice.todo, advice.isError ? [advice.detail, run] : [], retry, nothing);
}

/** The notice of a failed request. */
export function refusal(what: string, error: Error, retry: () => void): TemplateResult {
  const isTold = error instanceof Refused;
  const number = isTold && error.requestId ? `Request ${error.requestId}` : "";
  return told(true, what, isTold ? error.message : "The server cannot be reached.", [number], retry, "alert");
}

function told(
  isError: boolean,
  what: string,
  todo: string,
  details: readonly string[],
  retry: (() => void) | undefined,
  role: string | typeof nothing,
): TemplateResult {
  const lines = details.filter(Boolean);
  return html`<div class="notice ${isError ? "error" : ""}" role=${role}>
    <div class="notice-line">
      ${isError ? icon("warning") : nothing}
      <p><strong>${what}</strong> ${todo}</p>
      ${retry ? html`<button class="plain" type="button" @click=${retry}>Retry</button>` : nothing}
    </div>
    ${lines.length > 0
      ? html`<details><summary>Details</summary>${lines.map((one) => html`<p class="detail">${one}</p>`)}</details>`
      : nothing}
  </div>`;
}
