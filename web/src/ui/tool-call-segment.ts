/** A tool call: one line that opens to arguments, result and error. */

import { html, type TemplateResult } from "lit";
import type { ToolView } from "../core/view.js";
import { define, Element, fields } from "./element.js";
import { toolBody, toolLine } from "./step.js";

export class ToolCallSegment extends Element {
  static override properties = fields("tool");
  declare tool: ToolView;

  override render(): TemplateResult {
    return html`<details class="tool ${this.tool.state}" data-tool>
      <summary class="tool-line">${toolLine(this.tool)}</summary>
      <div class="tool-body">${toolBody(this.tool)}</div>
    </details>`;
  }
}

define("headrace-tool-call-segment", ToolCallSegment);
