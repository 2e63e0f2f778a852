/** "Show Reasoning": closed by default; opens to all steps in order. */

import { html, nothing, type TemplateResult } from "lit";
import type { StepView } from "../core/view.js";
import { copyButton } from "./copy.js";
import { define, Element } from "./element.js";
import { icon } from "./icon.js";
import { facts, opaque, part, summary } from "./step.js";
import "./built-in-tool-segment.js";
import "./tool-call-segment.js";

export class ReasoningSegment extends Element {
  static override properties = { steps: { attribute: false }, isOpen: { state: true } };
  declare steps: readonly StepView[];
  declare isOpen: boolean;

  constructor() {
    super();
    this.isOpen = false;
  }

  override render(): TemplateResult {
    const more = facts(this.steps);
    return html`<div class="reasoning">
      <div class="steps-head">
        <button class="toggle" type="button" aria-expanded=${this.isOpen ? "true" : "false"} @click=${this.#toggle}>
          <span class="chevron">${icon("chevron")}</span><span>Show Reasoning</span>
        </button>
        <span class="summary">${summary(this.steps)}</span>
        ${more ? html`<span class="facts">${more}</span>` : nothing}
        ${this.isOpen ? copyButton(() => this.#text(), "Copy reasoning") : nothing}
      </div>
      ${this.isOpen ? html`<div class="steps-body">${this.steps.map(storedStep)}</div>` : nothing}
    </div>`;
  }

  #toggle(): void {
    this.isOpen = !this.isOpen;
  }

  #text(): string {
    const parts = this.querySelectorAll<HTMLElement>("[data-part], .tool-line");
    return [...parts].map((one) => one.innerText.trim()).join("\n\n");
  }
}

/** One step of a stored event. */
export function storedStep(step: StepView): TemplateResult {
  if (step.kind === "reasoning") return html`<div class="thought">${step.parts.map((one) => part(one, false))}</div>`;
  if (step.kind === "opaque") return opaque(step);
  if (step.type === "tool_call") return html`<headrace-tool-call-segment .tool=${step}></headrace-tool-call-segment>`;
  return html`<headrace-built-in-tool-segment .tool=${step}></headrace-built-in-tool-segment>`;
}

define("headrace-reasoning-segment", ReasoningSegment);
