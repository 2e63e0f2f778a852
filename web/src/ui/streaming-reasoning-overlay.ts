/** Streaming reasoning: its parts in order, each with a spinner until it is complete. */

import { html, type TemplateResult } from "lit";
import type { ReasoningView } from "../core/view.js";
import { define, Element, fields } from "./element.js";
import { hasWords, hidden, part } from "./step.js";

export class StreamingReasoningOverlay extends Element {
  static override properties = fields("reasoning");
  declare reasoning: ReasoningView;

  override render(): TemplateResult {
    const { parts } = this.reasoning;
    const isHidden = !hasWords([this.reasoning]) && parts.every((one) => one.isComplete || one.isRedacted);
    return isHidden ? hidden([this.reasoning]) : html`${parts.map((view) => part(view, true))}`;
  }
}

define("headrace-streaming-reasoning-overlay", StreamingReasoningOverlay);
