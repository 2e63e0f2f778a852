/** Templates of steps, the same while streaming and afterwards. */

import { html, nothing, type TemplateResult } from "lit";
import { BUILT_IN } from "../core/event.js";
import { count, duration, shownBriefly, shownValue } from "../core/format.js";
import type { OpaqueView, PartView, ReasoningView, StepView, ToolView } from "../core/view.js";
import { icon } from "./icon.js";
import "./markdown-view.js";

/** One reasoning part, with a spinner while it grows. */
export function part(view: PartView, isLive: boolean): TemplateResult {
  if (view.isRedacted) {
    return html`<div class="part redacted" data-part>The provider does not show this part of the reasoning.</div>`;
  }
  const isGrowing = isLive && !view.isComplete;
  return html`<div class="part" data-part>
    ${isGrowing ? html`<span class="spinner" role="img" aria-label="still thinking"></span>` : nothing}
    <headrace-markdown .prose=${view}></headrace-markdown>
    ${!isLive && !view.isComplete ? html`<span class="cut">It broke off here.</span>` : nothing}
  </div>`;
}

/** The display name of a tool. */
export function toolName(tool: ToolView): string {
  return tool.type === "tool_call" ? tool.name : BUILT_IN[tool.type];
}

/** One line with the call and its result. */
export function toolLine(tool: ToolView): TemplateResult {
  const outcome = tool.error ?? shownBriefly(tool.result);
  return html`<span class="tool-mark ${tool.state}">${icon(tool.state === "failed" ? "warning" : "tool")}</span>
    <span class="tool-name">${toolName(tool)}</span>
    <span class="tool-brief">${shownBriefly(tool.args)}</span>
    ${outcome ? html`<span class="tool-arrow" aria-hidden="true">→</span><span class="tool-outcome">${outcome}</span>` : nothing}
    <span class="tool-state">${toolState(tool)}</span>`;
}

function toolState(tool: ToolView): string {
  if (tool.state === "running") return tool.status;
  if (tool.state === "incomplete") return "no result";
  return tool.durationMs === undefined ? "" : duration(tool.durationMs);
}

/** The details: arguments, log, result and error. */
export function toolBody(tool: ToolView): TemplateResult {
  return html`${field("Arguments", "tool-args", shownValue(tool.args))}
    ${tool.progress === undefined ? nothing : html`<progress max="1" .value=${tool.progress} aria-label="Progress"></progress>`}
    ${field("Log", "tool-logs", tool.logs)} ${field("Result", "tool-result", shownValue(tool.result))}
    ${field("Error", "tool-error", tool.error ?? "")}`;
}

function field(label: string, name: string, text: string): TemplateResult | typeof nothing {
  if (text === "") return nothing;
  return html`<div class="field"><span class="label">${label}</span><pre class=${name} tabindex="0">${text}</pre></div>`;
}

export function opaque(view: OpaqueView): TemplateResult {
  return html`<div class="part redacted" data-part>An item of type “${view.what}”, stored unchanged.</div>`;
}

/** Summarize the steps in a line: "Thought for 12 s · 2 tools". */
export function summary(steps: readonly StepView[]): string {
  const thoughts = steps.filter((step): step is ReasoningView => step.kind === "reasoning");
  const times = thoughts.flatMap((step) => (step.durationMs === undefined ? [] : [step.durationMs]));
  const tools = steps.filter((step) => step.kind === "tool").length;
  const told = [`Thought for ${thought(times)}`];
  if (tools > 0) told.push(count(tools, "tool"));
  return told.join(" · ");
}

function thought(times: readonly number[]): string {
  const ms = times.reduce((a, b) => a + b, 0);
  return ms < 1_000 ? "a moment" : duration(ms);
}

/** Effort and token count of the reasoning. */
export function facts(steps: readonly StepView[]): string {
  const thoughts = steps.filter((step): step is ReasoningView => step.kind === "reasoning");
  const tokens = thoughts.reduce((sum, step) => sum + (step.tokens ?? 0), 0);
  const effort = thoughts.find((step) => step.effort)?.effort;
  const told = [];
  if (effort) told.push(`${effort} effort`);
  if (tokens > 0) told.push(count(tokens, "token"));
  return told.join(" · ");
}

export function hasReasoning(steps: readonly StepView[]): boolean {
  return steps.some((step) => step.kind !== "tool");
}
