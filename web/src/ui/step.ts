/** Templates of steps, the same while streaming and afterwards. */

import { html, nothing, type TemplateResult } from "lit";
import { duration, effortName, percent, shownBriefly, shownValue } from "../core/format.js";
import { WAITING, type OpaqueView, type PartView, type ReasoningView, type StepView, type ToolView } from "../core/view.js";
import { icon } from "./icon.js";
import "./markdown-view.js";
import { briefResult } from "./tool-value.js";
import { t } from "../languages/language.js";

/** A row of a stored message: adjacent reasoning segments, or one other step. */
export type Row = readonly ReasoningView[] | ToolView | OpaqueView;

export function rows(steps: readonly StepView[]): Row[] {
  const found: (ReasoningView[] | ToolView | OpaqueView)[] = [];
  for (const step of steps) {
    const last = found.at(-1);
    if (step.kind !== "reasoning") found.push(step);
    else if (Array.isArray(last)) last.push(step);
    else found.push([step]);
  }
  return found;
}

/** Return whether any text of the reasoning can be shown. */
export function hasWords(thoughts: readonly ReasoningView[]): boolean {
  return thoughts.some((one) => one.parts.some((part) => part.hasWords));
}

/** Reasoning without any text. */
export function hidden(thoughts: readonly ReasoningView[]): TemplateResult {
  const ms = totalMs(thoughts);
  return html`<div class="part redacted" data-part>${t.keptToItself}${ms >= 1_000 ? ` · ${duration(ms)}` : nothing}</div>`;
}

/** One reasoning part, with a spinner while it grows. */
export function part(view: PartView, isLive: boolean): TemplateResult {
  const isGrowing = isLive && !view.isComplete;
  if (!view.hasWords && (view.isRedacted || !isGrowing)) {
    return html`<div class="part redacted" data-part>${t.notShown}</div>`;
  }
  return html`<div class="part" data-part>
    ${isGrowing ? html`<span class="spinner" role="img" aria-label=${t.stillThinking}></span>` : nothing}
    <headrace-markdown .prose=${view}></headrace-markdown>
    ${!isLive && !view.isComplete ? html`<span class="cut">${t.brokeOff}</span>` : nothing}
  </div>`;
}

/** The display name of a tool. */
export function toolName(tool: ToolView): string {
  if (tool.type === "tool_call") return tool.name;
  // The tools of an MCP server have names of their own.
  return tool.type === "mcp_call" ? `MCP ${tool.name}` : t.builtIn[tool.type];
}

/** One line with the call and its result, or with its progress while it runs. */
export function toolLine(tool: ToolView): TemplateResult {
  const news = tool.state === "running" ? latest(tool) : "";
  const outcome = news || (tool.error ?? briefResult(tool.result));
  return html`<span class="tool-mark ${tool.state}">${icon(tool.state === "failed" ? "warning" : "tool")}</span>
    <span class="tool-name">${toolName(tool)}</span>
    <span class="tool-brief">${shownBriefly(tool.args)}</span>
    ${outcome ? html`<span class="tool-arrow" aria-hidden="true">${news ? "…" : "→"}</span><span class="tool-outcome">${outcome}</span>` : nothing}
    <span class="tool-state">${progress(tool)}${toolState(tool)}</span>`;
}

function progress(tool: ToolView): TemplateResult | typeof nothing {
  if (tool.state !== "running" || tool.progress === undefined) return nothing;
  return html`<progress max="1" .value=${tool.progress} aria-label=${t.progressOf(toolName(tool))}></progress>`;
}

/** States that every tool has, which say nothing about its work. */
const PLAIN_STATES = new Set(["writing", "ready", "running", "approval_requested", WAITING]);

/** What a running tool has told last: a status of its own, or a line of its log. */
function latest({ status, logs }: ToolView): string {
  return shownBriefly(PLAIN_STATES.has(status) ? (logs.trimEnd().split("\n").at(-1) ?? "") : status);
}

function toolState(tool: ToolView): string {
  const names = t.toolStates;
  if (tool.status === "approval_requested") return tool.state === "running" ? names.approval : names.notApproved;
  if (tool.state === "running") {
    return tool.progress !== undefined ? percent(tool.progress) : ((names as Readonly<Record<string, string>>)[tool.status] ?? names.running);
  }
  if (tool.state === "incomplete") return names.incomplete;
  return tool.durationMs === undefined ? "" : duration(tool.durationMs);
}

/** The details: arguments, log, result and error. */
export function toolBody(tool: ToolView): TemplateResult {
  // What a sub-agent was asked is in its line; while it works, its steps are more interesting.
  const hasArgs = shownBriefly(tool.args) !== "" && !(tool.nested.length > 0 && tool.state === "running");
  return html`${hasArgs ? field(t.arguments, "tool-args", shownValue(tool.args)) : nothing}
    ${tool.nested.length > 0 ? nested(tool) : nothing}
    ${field(t.log, "tool-logs", tool.logs)} <headrace-tool-result .tool=${tool}></headrace-tool-result>
    ${field(t.error, "tool-error", tool.error ?? "")}`;
}

/** What a sub-agent did: its steps and texts, as in an answer. */
function nested(tool: ToolView): TemplateResult {
  const isLive = tool.state === "running";
  return html`<div class="field nested" role="group" aria-label=${t.stepsOf(toolName(tool))}>
    <span class="label">${t.steps}</span>
    ${tool.nested.map(({ steps, content }, place) => {
      const phase = !isLive ? "stored" : place < tool.nested.length - 1 || content ? "settled" : "live";
      return html`<headrace-steps-panel class=${phase} .steps=${steps} .phase=${phase} .startedAt=${tool.createdAt} .owner=${toolName(tool)}></headrace-steps-panel>
        ${content?.kind === "text" ? html`<headrace-markdown .prose=${content}></headrace-markdown>` : nothing}`;
    })}
  </div>`;
}

function field(label: string, name: string, text: string): TemplateResult | typeof nothing {
  if (text === "") return nothing;
  return html`<div class="field"><span class="label">${label}</span><pre class=${name} tabindex="0">${text}</pre></div>`;
}

export function opaque(view: OpaqueView): TemplateResult {
  return html`<div class="part redacted" data-part>${t.opaque(view.what)}</div>`;
}

/** What was done before a text: "Worked for 5 s · 4 tools, 1 failed". */
export function workSummary(steps: readonly StepView[]): string {
  const thoughts = steps.filter((one) => one.kind === "reasoning");
  const tools = steps.filter((one) => one.kind === "tool");
  if (tools.length === 0) return summary(thoughts);
  const failed = tools.filter((one) => one.state === "failed").length;
  const ms = totalMs(thoughts) + busyMs(tools);
  return t.worked(ms < 1_000 ? t.aMoment : duration(ms), tools.length, failed);
}

/** The time in which at least one of the tools ran. */
function busyMs(tools: readonly ToolView[]): number {
  let ms = 0;
  let until = 0;
  for (const { createdAt, durationMs = 0 } of [...tools].sort((a, b) => a.createdAt - b.createdAt)) {
    const end = createdAt + durationMs;
    ms += Math.max(0, end - Math.max(until, createdAt));
    until = Math.max(until, end);
  }
  return ms;
}

/** How long the reasoning took: "Thought for 12 s". */
export function summary(thoughts: readonly ReasoningView[]): string {
  if (thoughts.every((one) => one.durationMs === undefined)) return t.thought;
  const ms = totalMs(thoughts);
  return t.thoughtFor(ms < 1_000 ? t.aMoment : duration(ms));
}

function totalMs(thoughts: readonly ReasoningView[]): number {
  return thoughts.reduce((sum, one) => sum + (one.durationMs ?? 0), 0);
}

/** Effort and token count of the reasoning. */
export function facts(thoughts: readonly ReasoningView[]): string {
  const tokens = thoughts.reduce((sum, one) => sum + (one.tokens ?? 0), 0);
  const effort = thoughts.find((one) => one.effort)?.effort;
  const told = [];
  if (effort) told.push(t.withEffort(effortName(effort)));
  if (tokens > 0) told.push(t.tokens(tokens));
  return told.join(" · ");
}
