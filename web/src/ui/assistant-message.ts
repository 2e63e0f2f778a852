/** An answer: groups of steps and content.
 *
 * A live answer is drawn from the bus, at most once per animation frame; a stored one from its event. */

import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { adviceOf } from "../core/advice.js";
import type { Chat } from "../core/chat.js";
import { textOf, type MessageEvent } from "../core/event.js";
import { count, dollars, duration } from "../core/format.js";
import { draftView, eventView, type ContentView, type Group, type TextView } from "../core/view.js";
import { copyButton } from "./copy.js";
import { define, Element, fields } from "./element.js";
import { holdPlace, releasePlace } from "./hold-place.js";
import { icon } from "./icon.js";
import { media } from "./media.js";
import { notice } from "./notice.js";
import { sources } from "./sources.js";
import type { PanelPhase } from "./steps-panel.js";
import "./input-request.js";
import "./markdown-view.js";
import "./steps-panel.js";

const DRAW_MS = 40;
const FLOOD_MS = 100;
const FLOOD_CHARS_A_MS = 1;

export class AssistantMessage extends Element {
  static override properties = fields("chat eventId event startedAt branches retry");
  declare chat: Chat;
  /** Id of the streaming answer; empty while the question is being sent. */
  declare eventId: string;
  declare event: MessageEvent | undefined;
  declare startedAt: number;
  declare branches: TemplateResult | typeof nothing;
  declare retry: (() => void) | undefined;
  #stopWatching: (() => void) | undefined;
  #watched = "";
  #frame = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #drawnAt = 0;
  #drawnChars = 0;
  #isFlood = false;
  #placeHeld: (() => Promise<void>) | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unwatch();
  }

  override willUpdate(changed: PropertyValues): void {
    if (this.event && this.hasUpdated && changed.has("event") && !changed.get("event")) this.#placeHeld = holdPlace(this);
    if (this.chat.pending && this.event) releasePlace(this);
    const wanted = this.event ? "" : this.eventId;
    if (wanted === this.#watched) return;
    this.#unwatch();
    this.#watched = wanted;
    if (wanted) this.#stopWatching = this.chat.bus.watch(wanted, () => this.#soon());
  }

  override updated(): void {
    void this.#placeHeld?.();
    this.#placeHeld = undefined;
  }

  #unwatch(): void {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    this.#watched = "";
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#frame = 0;
  }

  /** Draw with the next animation frame; under heavy load less often. */
  #soon(): void {
    if (this.#timer !== undefined || this.#frame) return;
    const waitMs = this.#drawnAt + (this.#isFlood ? FLOOD_MS : DRAW_MS) - performance.now();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#frame = requestAnimationFrame((at) => this.#draw(at));
    }, waitMs);
  }

  #draw(at: number): void {
    const chars = this.chat.bus.draft(this.eventId)?.chars ?? 0;
    this.#isFlood = chars - this.#drawnChars > FLOOD_CHARS_A_MS * (at - this.#drawnAt);
    this.#frame = 0;
    this.#drawnAt = at;
    this.#drawnChars = chars;
    this.requestUpdate();
  }

  /** One template for live and stored, so that the elements stay the same when the answer ends. */
  override render(): TemplateResult {
    const { event } = this;
    const isLive = event === undefined;
    const advice = event ? adviceOf(event, this.chat.unsaved.has(event.id)) : null;
    const groups = event ? eventView(event, this.chat.blocks) : this.#liveGroups();
    const isEmpty = groups.length === 0 && !advice;
    return html`<article class="message assistant ${isLive ? "streaming" : ""}" aria-label=${isLive ? "Answer in progress" : "Answer"}
      aria-busy=${isLive ? "true" : "false"}>
      ${this.#groups(groups, isLive)}
      ${sources(event ? (event.citations ?? []) : (this.chat.bus.draft(this.eventId)?.citations ?? []))}
      ${isEmpty ? html`<p class="empty-answer">The model answered with nothing.</p>` : nothing}
      ${event && advice ? notice(advice, event, this.retry) : nothing}
      <div class="foot">${event ? this.#foot(event) : nothing}</div>
    </article>`;
  }

  /** Show the overlay from the start, until something else arrives. */
  #liveGroups(): readonly Group[] {
    const draft = this.chat.bus.draft(this.eventId);
    const groups = draft ? draftView(draft, this.chat.blocks) : [];
    return groups.length === 0 ? [{ steps: [], content: null }] : groups;
  }

  #groups(groups: readonly Group[], isLive: boolean): unknown {
    const draft = this.chat.bus.draft(this.eventId);
    const startedAt = draft?.createdAt ?? this.startedAt;
    return repeat(groups, (_group, place) => place, (group, place) => {
      const live = place < groups.length - 1 ? "settled" : group.content ? "writing" : "live";
      const phase: PanelPhase = isLive ? live : "stored";
      const panel = html`<headrace-steps-panel class=${phase} .steps=${group.steps} .phase=${phase} .status=${draft?.status?.text} .startedAt=${startedAt}></headrace-steps-panel>`;
      return html`${panel}${group.content ? this.#content(group.content) : nothing}`;
    });
  }

  #content(content: ContentView): unknown {
    return repeat([content], (one) => one.id, (one) => {
      switch (one.kind) {
        case "media":
          return media(one);
        case "said":
          return html`<div class="said added" role="note" aria-label="You, during the answer">${one.text}</div>`;
        case "request":
          return html`<headrace-input-request .chat=${this.chat} .eventId=${this.event ? "" : this.eventId} .request=${one.request}></headrace-input-request>`;
        default:
          return text(one);
      }
    });
  }

  #foot(event: MessageEvent): TemplateResult {
    const copied = textOf(event);
    return html`${copied ? copyButton(() => copied, "Copy answer") : nothing}
      ${this.retry ? html`<button class="quiet" type="button" aria-label="Regenerate" title="Regenerate" @click=${this.retry}>${icon("retry")}</button>` : nothing}
      ${this.branches}
      <span class="cost">${cost(event)}</span>`;
  }
}

function text(view: TextView): TemplateResult {
  return html`<div class="text ${view.isRefusal ? "refusal" : ""}">
    <headrace-markdown .prose=${view}></headrace-markdown>${sources(view.citations)}
  </div>`;
}

function cost(event: MessageEvent): string {
  const told = [];
  const tokens = event.usage?.total_tokens ?? event.usage?.output_tokens;
  if (tokens) told.push(count(tokens, "token"));
  const amount = event.usage?.cost;
  if (typeof amount === "number") told.push(`${event.usage?.is_estimated ? "~" : ""}${dollars(amount)}`);
  if (event.duration_ms !== undefined) told.push(duration(event.duration_ms));
  return told.join(" · ");
}

define("headrace-assistant-message", AssistantMessage);
