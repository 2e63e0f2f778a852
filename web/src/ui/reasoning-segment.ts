/** "Show Reasoning": closed by default; opens to all parts in order. */

import { html, nothing, type TemplateResult } from "lit";
import type { ReasoningView } from "../core/view.js";
import { copyButton } from "./copy.js";
import { define, Element, fields } from "./element.js";
import { icon } from "./icon.js";
import { facts, hasWords, hidden, part } from "./step.js";
import { t } from "../languages/language.js";

export class ReasoningSegment extends Element {
  static override properties = fields("thoughts told isOpen");
  /** Adjacent reasoning segments. */
  declare thoughts: readonly ReasoningView[];
  /** What is said beside the toggle. */
  declare told: string;
  declare isOpen: boolean;

  constructor() {
    super();
    this.isOpen = false;
  }

  override render(): TemplateResult {
    const { thoughts, isOpen } = this;
    if (!hasWords(thoughts)) return hidden(thoughts);
    const more = facts(thoughts);
    return html`<div class="reasoning">
      <div class="steps-head">
        <button class="toggle" type="button" aria-expanded=${isOpen ? "true" : "false"} @click=${this.#toggle}>
          <span class="chevron">${icon("chevron")}</span><span>${t.showReasoning}</span>
        </button>
        <span class="summary">${this.told}</span>
        ${isOpen ? copyButton(() => this.#text(), t.copyReasoning) : nothing}
      </div>
      ${isOpen ? html`<div class="steps-body">${more ? html`<p class="facts">${more}</p>` : nothing}${thoughts.map(({ parts }) => html`<div class="thought">${parts.map((one) => part(one, false))}</div>`)}</div>` : nothing}
    </div>`;
  }

  #toggle(): void {
    this.isOpen = !this.isOpen;
  }

  #text(): string {
    const parts = this.querySelectorAll<HTMLElement>("[data-part]");
    return [...parts].map((one) => one.innerText.trim()).join("\n\n");
  }
}

define("headrace-reasoning-segment", ReasoningSegment);
