/** The steps before a piece of content.
 *
 * Three states: *live*, a window that follows the newest text; *folded*, one row, once the text below begins;
 * *stored*. The folded row is as high as the stored one, so that nothing moves when the message ends. */

import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { elapsed } from "../core/format.js";
import type { StepView } from "../core/view.js";
import { define, Element } from "./element.js";
import { storedStep } from "./reasoning-segment.js";
import { hasReasoning, opaque, summary } from "./step.js";
import "./reasoning-segment.js";
import "./streaming-reasoning-overlay.js";
import "./streaming-tools-overlay.js";

export type PanelPhase = "live" | "folded" | "stored";

export class StepsPanel extends Element {
  static override properties = {
    steps: { attribute: false },
    phase: { attribute: false },
    status: { attribute: false },
    startedAt: { attribute: false },
    seconds: { state: true },
  };
  declare steps: readonly StepView[];
  declare phase: PanelPhase;
  declare status: string | undefined;
  declare startedAt: number;
  declare seconds: number;
  #timer: ReturnType<typeof setInterval> | undefined;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stopTimer();
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  override willUpdate(): void {
    if (this.phase === "live") this.#timer ??= setInterval(() => this.#tick(), 250);
    else this.#stopTimer();
    this.#tick();
  }

  #tick(): void {
    this.seconds = Math.max(0, Math.floor((Date.now() - this.startedAt) / 1_000));
  }

  override render(): TemplateResult | typeof nothing {
    if (this.phase === "stored") return this.#stored();
    return this.phase === "folded" && this.steps.length === 0 ? nothing : this.#overlay();
  }

  #stored(): TemplateResult | typeof nothing {
    if (this.steps.length === 0) return nothing;
    if (hasReasoning(this.steps)) {
      return html`<headrace-reasoning-segment .steps=${this.steps}></headrace-reasoning-segment>`;
    }
    return html`<div class="tools">${this.steps.map(storedStep)}</div>`;
  }

  /** One template for live and folded: what has been drawn is only hidden. */
  #overlay(): TemplateResult {
    const isFolded = this.phase === "folded";
    const isTools = isFolded && !hasReasoning(this.steps);
    return html`<section class="overlay ${this.phase} ${isTools ? "tools" : ""}" aria-label="Live reasoning">
      <div class="rail" aria-hidden="true"></div>
      ${isTools ? nothing : html`<div class="steps-head">${isFolded ? this.#folded() : this.#live()}</div>`}
      ${this.steps.length === 0
        ? nothing
        : html`<div class="window" tabindex=${isFolded ? nothing : "0"} role="group" aria-label="Steps so far" ?inert=${isFolded && !isTools}>
            <div>${this.#overlays()}</div>
          </div>`}
    </section>`;
  }

  #live(): TemplateResult {
    const phrases = [this.status ?? "Thinking"];
    return html`${repeat(phrases, (one) => one, (one) => html`<span class="phrase">${one}</span>`)}
      <span class="seconds">${elapsed(this.seconds * 1_000)}</span>`;
  }

  #folded(): TemplateResult {
    return html`<span class="summary">${summary(this.steps)}</span>`;
  }

  #overlays(): unknown {
    return repeat(this.steps, (step) => step.id, (step) => {
      if (step.kind === "opaque") return opaque(step);
      if (step.kind === "tool") {
        return html`<headrace-streaming-tools-overlay .tool=${step}></headrace-streaming-tools-overlay>`;
      }
      return html`<headrace-streaming-reasoning-overlay .reasoning=${step}></headrace-streaming-reasoning-overlay>`;
    });
  }
}

define("headrace-steps-panel", StepsPanel);
