/** The steps before a piece of content.
 *
 * Phases: *live*, nothing below yet; *writing*, the text below is being written; *settled*, newer steps are
 * below; *stored*. In the first three the steps are in a window that follows the newest, without a toggle. */

import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { elapsed } from "../core/format.js";
import type { StepView } from "../core/view.js";
import { define, Element, fields } from "./element.js";
import { opaque, rows, summary, toolName, workSummary, type Row } from "./step.js";
import "./built-in-tool-segment.js";
import "./reasoning-segment.js";
import "./streaming-reasoning-overlay.js";
import "./streaming-tools-overlay.js";
import "./tool-call-segment.js";
import { t } from "../languages/language.js";

/** How many running tools are kept in view. */
const MAX_KEPT = 4;
/** How late the seconds may be, so that they are counted together with other news and not in a frame of their own. It is
 * longer than the longest pause between two reads of a stream. */
const LATE_MS = 200;

export type PanelPhase = "live" | "writing" | "settled" | "stored";

export class StepsPanel extends Element {
  static override properties = fields("steps phase status startedAt owner");
  declare steps: readonly StepView[];
  declare phase: PanelPhase;
  declare status: string | undefined;
  declare startedAt: number;
  /** Name of the sub-agent whose steps these are. */
  declare owner: string | undefined;
  #seconds = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isTall = false;
  #rows = 0;
  /** How far the reader has scrolled up in the window. Kept from events, because reading it would force a layout. */
  #scrolled = 0;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  override willUpdate(changed: PropertyValues): void {
    // Without steps there is no window, and a new one begins at its newest step.
    if (this.steps.length === 0) this.#scrolled = 0;
    // The window does not shrink under the eyes of somebody who has scrolled up in it.
    if (changed.get("phase") === "live") this.#isTall = this.#scrolled < -8;
    this.#count();
  }

  override updated(): void {
    // Setting a style costs time even if its value is the same.
    const count = rows(this.steps).length;
    if (count !== this.#rows) this.style.setProperty("--rows", String((this.#rows = count)));
  }

  /** Resolves when the segments are drawn, too. */
  protected override async getUpdateComplete(): Promise<boolean> {
    const isDone = await super.getUpdateComplete();
    await Promise.all([...this.querySelectorAll<Element>(".row")].map((row) => row.updateComplete));
    return isDone;
  }

  /** Count the seconds, and draw again when another one is over and nothing else was drawn. */
  #count(): void {
    const ms = Math.max(0, Date.now() - this.startedAt) || 0;
    this.#seconds = Math.floor(ms / 1_000);
    clearTimeout(this.#timer);
    if (this.phase === "live" && this.isConnected) this.#timer = setTimeout(() => this.requestUpdate(), 1_000 - (ms % 1_000) + LATE_MS);
  }

  override render(): unknown {
    if (this.phase === "stored") return this.#storedRows();
    return this.phase !== "live" && this.steps.length === 0 ? nothing : this.#overlay();
  }

  /** The first row tells about all steps, the others about their own. */
  #storedRows(): unknown {
    const found = rows(this.steps);
    return found.map((row, place) => storedRow(row, place === 0 ? workSummary(this.steps) : Array.isArray(row) ? summary(row) : ""));
  }

  #overlay(): TemplateResult {
    const { phase } = this;
    return html`<section class="steps ${phase} ${phase === "settled" ? "" : "overlay"} ${this.#isTall ? "tall" : ""}" aria-label=${this.owner ? t.liveReasoningOf(this.owner) : t.liveReasoning}>
      <div class="rail" aria-hidden="true"></div>
      ${phase === "live" || this.#isTall ? this.#head() : nothing}
      ${this.steps.length === 0
        ? nothing
        : html`<div class="window" tabindex="0" role="group" aria-label=${t.stepsSoFar} @scroll=${({ currentTarget }: Event) => (this.#scrolled = (currentTarget as HTMLElement).scrollTop)}>
            <div>${this.#overlays()}</div>
          </div>`}
    </section>`;
  }

  #head(): TemplateResult {
    // The phrase is about the last call; others may run longer.
    const tools = this.steps.filter((step) => step.kind === "tool");
    const busy = tools.findLast((tool) => tool.state === "running");
    const phrases = [busy && busy !== tools.at(-1) ? t.using(toolName(busy).replaceAll("_", " ")) : (this.status ?? t.thinking)];
    return html`<div class="steps-head">
      ${repeat(phrases, (one) => one, (one) => html`<span class="phrase">${one}</span>`)}
      <span class="seconds">${elapsed(this.#seconds * 1_000)}</span>
    </div>`;
  }

  #overlays(): unknown {
    const running = this.steps.filter((step) => step.kind === "tool" && step.state === "running").slice(0, MAX_KEPT);
    return repeat(this.steps, (step) => step.id, (step) => {
      if (step.kind === "opaque") return opaque(step);
      if (step.kind === "tool") {
        const place = running.indexOf(step);
        return html`<headrace-streaming-tools-overlay class=${place < 0 ? "" : "kept"} .above=${place} .below=${running.length - 1 - place} .tool=${step}></headrace-streaming-tools-overlay>`;
      }
      return html`<headrace-streaming-reasoning-overlay .reasoning=${step}></headrace-streaming-reasoning-overlay>`;
    });
  }
}

function storedRow(row: Row, told: string): TemplateResult {
  if (!("kind" in row)) return html`<headrace-reasoning-segment class="row" .thoughts=${row} .told=${told}></headrace-reasoning-segment>`;
  if (row.kind === "opaque") return opaque(row);
  if (row.type === "tool_call") return html`<headrace-tool-call-segment class="row" .tool=${row}></headrace-tool-call-segment>`;
  return html`<headrace-built-in-tool-segment class="row" .tool=${row}></headrace-built-in-tool-segment>`;
}

define("headrace-steps-panel", StepsPanel);
