/** A running tool: its arguments as they arrive, progress, log and result. */

import { html, type TemplateResult } from "lit";
import type { ToolView } from "../core/view.js";
import { define, Element, fields } from "./element.js";
import { toolBody, toolLine } from "./step.js";

export class StreamingToolsOverlay extends Element {
  static override properties = fields("tool");
  declare tool: ToolView;

  override render(): TemplateResult {
    return html`<div class="tool ${this.tool.state}" data-tool>
      <div class="tool-line">${toolLine(this.tool)}</div>
      <div class="tool-body">${toolBody(this.tool)}</div>
    </div>`;
  }
}

define("headrace-streaming-tools-overlay", StreamingToolsOverlay);
