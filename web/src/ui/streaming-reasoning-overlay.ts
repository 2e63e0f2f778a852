/** Streaming reasoning: its parts in order, each with a spinner until it is complete. */

import { html, type TemplateResult } from "lit";
import type { ReasoningView } from "../core/view.js";
import { define, Element } from "./element.js";
import { part } from "./step.js";

export class StreamingReasoningOverlay extends Element {
  static override properties = { reasoning: { attribute: false } };
  declare reasoning: ReasoningView;

  override render(): TemplateResult {
    return html`${this.reasoning.parts.map((view) => part(view, true))}`;
  }
}

define("headrace-streaming-reasoning-overlay", StreamingReasoningOverlay);
