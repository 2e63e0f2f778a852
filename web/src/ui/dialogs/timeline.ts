/** The timeline of a run: when it thought, used tools and wrote, as a picture. */

import { html, nothing, svg, type TemplateResult } from "lit";
import type { API } from "../../core/api.js";
import type { Usage } from "../../core/event.js";
import { dollars, duration } from "../../core/format.js";
import { t } from "../../languages/language.js";
import { define, Element, fields } from "../element.js";

interface Span {
  readonly kind: string;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly is_error?: boolean;
}

interface Lane {
  readonly kind: string;
  readonly label: string;
  readonly depth: number;
  readonly ms: number;
  readonly spans: readonly Span[];
}

interface RunTimeline {
  readonly duration_ms: number;
  readonly lanes: readonly Lane[];
  readonly is_live: boolean;
  readonly is_rough: boolean;
  readonly first_text_ms?: number | null;
  readonly usage?: Usage | null;
}

/** Width of the picture in its own units; it is stretched to the column. */
const WIDTH = 1_000;
/** What takes no time is drawn this wide. */
const LEAST = 4;

export class TimelineView extends Element {
  static override properties = fields("api runId told problem");
  declare api: API;
  declare runId: string;
  declare told: RunTimeline | undefined;
  declare problem: string | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#load();
  }

  async #load(): Promise<void> {
    try {
      this.told = await this.api.json<RunTimeline>(`api/runs/${encodeURIComponent(this.runId)}/timeline`);
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  override render(): TemplateResult {
    const { told, problem } = this;
    if (problem !== undefined) return html`<p class="problem" role="alert"><strong>${t.failed}</strong> ${problem}</p>`;
    if (!told) return html`<p class="hint" role="status">${t.loadingMore}</p>`;
    const remark = told.is_live ? t.goesOn : told.is_rough ? t.roughTimes : "";
    return html`<p class="hint">${facts(told)}</p>${remark ? html`<p class="hint">${remark}</p>` : nothing}
      ${told.lanes.length === 0 ? html`<p>${t.noSteps}</p>` : table(told)}`;
  }
}

function facts(told: RunTimeline): string {
  const { usage } = told;
  const tokens = usage?.total_tokens ?? usage?.output_tokens;
  const parts = [t.total(duration(told.duration_ms))];
  if (told.first_text_ms) parts.push(t.firstText(duration(told.first_text_ms)));
  if (tokens) parts.push(t.tokens(tokens));
  if (typeof usage?.cost === "number") parts.push(dollars(usage.cost));
  return parts.join(" · ");
}

function table(told: RunTimeline): TemplateResult {
  return html`<table class="lanes">
    <thead><tr><th scope="col">${t.step}</th><th scope="col" class="scale"><span class="unseen">${t.course}</span><span aria-hidden="true">0 s</span><span aria-hidden="true">${duration(told.duration_ms)}</span></th><th scope="col">${t.time}</th></tr></thead>
    <tbody>${told.lanes.map((lane) => html`<tr class="lane">
      <th scope="row" class="depth-${Math.min(3, lane.depth)}">${t.lanes[lane.kind] ?? lane.label}</th>
      <td>${bars(lane, told.duration_ms)}</td>
      <td class="number">${duration(lane.ms)}</td>
    </tr>`)}</tbody>
  </table>`;
}

function bars(lane: Lane, totalMs: number): TemplateResult {
  const scale = WIDTH / Math.max(1, totalMs);
  return html`<svg viewBox="0 0 ${WIDTH} 18" preserveAspectRatio="none" aria-hidden="true">
    <rect class="ground" width=${WIDTH} height="18"></rect>
    ${lane.spans.map((span) => svg`<rect class="bar ${span.kind} ${span.is_error ? "failed" : ""}" x=${Math.min(WIDTH - LEAST, span.start_ms * scale)} y="3"
      width=${Math.max(LEAST, (span.end_ms - span.start_ms) * scale)} height="12"><title>${duration(span.end_ms - span.start_ms)}</title></rect>`)}
  </svg>`;
}

define("headrace-timeline", TimelineView);
