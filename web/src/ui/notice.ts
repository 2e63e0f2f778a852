/** An error notice: what happened, what to do, and a button that does it. */

import { html, nothing, type TemplateResult } from "lit";
import type { Advice, Remedy } from "../core/advice.js";
import { Refused } from "../core/api.js";
import type { MessageEvent } from "../core/event.js";
import { sentence } from "../core/format.js";
import { icon } from "./icon.js";
import { t } from "../languages/language.js";

/** The notice of an answer that did not end normally. */
export function notice(advice: Advice, event: MessageEvent, act: (remedy: Remedy) => (() => void) | undefined): TemplateResult {
  const run = event.run_id ? t.run(event.run_id) : "";
  const { isError, what, todo, detail, remedy } = advice;
  const action = remedy ? act(remedy) : undefined;
  return told(isError, what, todo, isError ? [detail, run] : [], action, nothing, remedy ? t.remedies[remedy] : "");
}

/** The notice of a failed request. */
export function refusal(what: string, error: Error, retry: () => void): TemplateResult {
  const isTold = error instanceof Refused;
  const number = isTold && error.requestId ? t.request(error.requestId) : "";
  return told(true, what, isTold ? sentence(error.message) : t.unreachable, [number], retry, "alert", t.remedies.retry);
}

function told(
  isError: boolean,
  what: string,
  todo: string,
  details: readonly string[],
  act: (() => void) | undefined,
  role: string | typeof nothing,
  label: string,
): TemplateResult {
  const lines = details.filter(Boolean);
  return html`<div class="notice ${isError ? "error" : ""}" role=${role}>
    <div class="notice-line">
      ${isError ? icon("warning") : nothing}
      <p><strong>${what}</strong> ${todo}</p>
      ${act ? html`<button class="plain" type="button" @click=${act}>${label}</button>` : nothing}
    </div>
    ${lines.length > 0
      ? html`<details><summary>${t.details}</summary>${lines.map((one) => html`<p class="detail">${one}</p>`)}</details>`
      : nothing}
  </div>`;
}
