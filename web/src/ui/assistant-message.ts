/** An answer: groups of steps and content.
 *
 * A live answer is drawn from the bus, at most once per animation frame; a stored one from its event. Streams are read less
 * often in a flood, so it is drawn less often as well. */

import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { adviceOf, type Remedy } from "../core/advice.js";
import type { ServedModel } from "../core/api.js";
import type { Chat } from "../core/chat.js";
import { textOf, type MessageEvent } from "../core/event.js";
import { dollars, duration } from "../core/format.js";
import { draftView, eventView, type ContentView, type Group, type TextView } from "../core/view.js";
import { copyButton } from "./copy.js";
import { define, Element, fields } from "./element.js";
import { holdPlace, releasePlace } from "./hold-place.js";
import { icon } from "./icon.js";
import { media } from "./media.js";
import { notice } from "./notice.js";
import type { Mark } from "./markdown-view.js";
import { marksOf, sources } from "./sources.js";
import type { UserMessage } from "./user-message.js";
import type { PanelPhase } from "./steps-panel.js";
import "./input-request.js";
import "./markdown-view.js";
import "./steps-panel.js";
import { t } from "../languages/language.js";

export class AssistantMessage extends Element {
  static override properties = fields("chat eventId event startedAt branches questionId isLast isPending models");
  declare chat: Chat;
  /** Id of the streaming answer; empty while the question is being sent. */
  declare eventId: string;
  declare event: MessageEvent | undefined;
  declare startedAt: number;
  declare branches: TemplateResult | typeof nothing;
  /** Id of the question, for an answer that can be given again. */
  declare questionId: string | null;
  /** Whether nothing follows, so that the model can continue it. */
  declare isLast: boolean;
  declare isPending: boolean;
  declare models: readonly ServedModel[];
  #stopWatching: (() => void) | undefined;
  #watched = "";
  #frame = 0;
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
    if (this.isPending && this.event) releasePlace(this);
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
    this.#frame = 0;
  }

  /** Draw with the next animation frame. */
  #soon(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.requestUpdate();
    });
  }

  /** One template for live and stored, so that the elements stay the same when the answer ends. */
  override render(): TemplateResult {
    const { event } = this;
    const isLive = event === undefined;
    const advice = event ? adviceOf(event, this.chat.unsaved.has(event.id)) : null;
    const groups = event ? eventView(event, this.chat.blocks) : this.#liveGroups();
    const isEmpty = !isLive && !advice && groups.every(({ content }) => content === null);
    return html`<article class="message assistant ${isLive ? "streaming" : ""}" part="answer" aria-label=${isLive ? t.answerInProgress : t.answer}
      aria-busy=${isLive ? "true" : "false"}>
      ${this.#groups(groups, isLive)}
      ${sources(event ? (event.citations ?? []) : (this.chat.bus.draft(this.eventId)?.citations ?? []))}
      ${isEmpty ? html`<p class="empty-answer">${t.answeredNothing}</p>` : nothing}
      ${event && advice ? notice(advice, event, (remedy) => this.#remedy(remedy)) : nothing}
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
          return html`<div class="said added" role="note" aria-label=${t.youDuring} dir="auto">${one.text}</div>`;
        case "request":
          return html`<headrace-input-request .chat=${this.chat} .eventId=${this.event ? "" : this.eventId} .request=${one.request}></headrace-input-request>`;
        default:
          return text(one, this.event !== undefined);
      }
    });
  }

  /** Return what the button below an answer that ended early does. */
  #remedy(remedy: Remedy): (() => void) | undefined {
    const { chat, questionId, isLast } = this;
    if (!questionId) return undefined;
    const actions: Record<Remedy, (() => void) | undefined> = {
      retry: () => void chat.asking.regenerate(questionId),
      continue: isLast ? () => void chat.asking.send(t.continue) : undefined,
      edit: () => this.#editQuestion(questionId),
      new: () => void chat.show(null),
    };
    return actions[remedy];
  }

  #editQuestion(questionId: string): void {
    const root = this.getRootNode() as ShadowRoot;
    const question = [...root.querySelectorAll<UserMessage>("headrace-user-message")].find((one) => one.message.id === questionId);
    void question?.edit();
  }

  #again(): TemplateResult | typeof nothing {
    const { chat, questionId } = this;
    if (!questionId) return nothing;
    const choose = (event: Event): void => {
      const select = event.target as HTMLSelectElement;
      void chat.asking.regenerate(questionId, select.value);
      select.value = "";
    };
    const button = html`<button class="quiet" type="button" aria-label=${t.regenerate} title=${t.regenerate} @click=${() => void chat.asking.regenerate(questionId)}>${icon("retry")}</button>`;
    if (this.models.length < 2) return button;
    return html`${button}<select class="with-model" aria-label=${t.regenerateWith} title=${t.regenerateWith} @change=${choose}>
      <option value="" selected>${t.with}</option>${this.models.map((one) => html`<option value=${one.name}>${one.name}</option>`)}
    </select>`;
  }

  #foot(event: MessageEvent): TemplateResult {
    const copied = textOf(event);
    return html`${copied ? copyButton(() => copied, t.copyAnswer) : nothing}
      ${this.#again()}
      ${event.run_id ? html`<button class="quiet" type="button" aria-label=${t.timeline} title=${t.timeline} data-dialog="timeline">${icon("clock")}</button>` : nothing}
      ${this.branches}
      <span class="cost">${cost(event)}<time datetime=${new Date(event.created_at).toISOString()} title=${new Date(event.created_at).toLocaleString()}>${clock(event.created_at)}</time></span>`;
  }
}

const NO_MARKS: readonly Mark[] = [];

function text(view: TextView, isStored: boolean): TemplateResult {
  return html`<div class="text ${view.isRefusal ? "refusal" : ""}">
    <headrace-markdown .prose=${view} .marks=${isStored && view.citations.length > 0 ? marksOf(view.citations) : NO_MARKS}></headrace-markdown>${sources(view.citations)}
  </div>`;
}

let format: Intl.DateTimeFormat | undefined;

/** Format the time of a day. The formatter is kept, because `toLocaleTimeString` makes one for each time. */
function clock(atMs: number): string {
  format ??= new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });
  return format.format(atMs);
}

function cost(event: MessageEvent): string {
  const told = event.model ? [event.model] : [];
  const tokens = event.usage?.total_tokens ?? event.usage?.output_tokens;
  if (tokens) told.push(t.tokens(tokens));
  const amount = event.usage?.cost;
  if (typeof amount === "number") told.push(`${event.usage?.is_estimated ? "~" : ""}${dollars(amount)}`);
  if (event.duration_ms !== undefined) told.push(duration(event.duration_ms));
  // The time follows.
  return told.map((one) => `${one} · `).join("");
}

define("headrace-assistant-message", AssistantMessage);
