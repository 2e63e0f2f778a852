/** A tool of a streaming answer: one line, with its progress; opens to its arguments, log and result. */

import { html, type TemplateResult } from "lit";
import type { ToolView } from "../core/view.js";
import { define, Element, fields } from "./element.js";
import { toolBody, toolLine } from "./step.js";

export class StreamingToolsOverlay extends Element {
  static override properties = fields("tool above below");
  declare tool: ToolView;
  /** Number of running tools above and below that are kept in view, too. */
  declare above: number;
  declare below: number;

  override updated(): void {
    this.style.setProperty("--above", String(Math.max(0, this.above)));
    this.style.setProperty("--below", String(Math.max(0, this.below)));
  }

  override render(): TemplateResult {
    const { tool } = this;
    // The steps of a sub-agent are what is going on.
    return html`<details class="tool ${tool.state}" data-tool ?open=${tool.state === "running" && tool.nested.length > 0}>
      <summary class="tool-line">${toolLine(tool)}</summary>
      <div class="tool-body">${toolBody(tool)}</div>
    </details>`;
  }
}

define("headrace-streaming-tools-overlay", StreamingToolsOverlay);
