/** The input field. Unsent text survives a reload; Send becomes Stop in the same place. */

import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { ServedModel } from "../core/api.js";
import type { Chat } from "../core/chat.js";
import type { Returned } from "../core/question.js";
import { define, Element, fields, keyOf, passFocus } from "./element.js";
import { icon } from "./icon.js";

export class Composer extends Element {
  static override properties = fields("chat models draftKey isBusy returned text");
  declare chat: Chat;
  declare models: readonly ServedModel[];
  /** Key of the conversation that the draft belongs to. */
  declare draftKey: string;
  declare isBusy: boolean;
  /** A message that could not be sent returns here. */
  declare returned: Returned | null;
  declare text: string;

  constructor() {
    super();
    this.text = "";
  }

  override willUpdate(changed: PropertyValues): void {
    if (changed.has("draftKey")) this.#turn(changed.get("draftKey") as string | undefined);
    const { returned } = this;
    if (!changed.has("returned") || !returned || returned.draftKey !== this.draftKey || this.text !== "") return;
    this.text = returned.text;
    keep(this.draftKey, this.text);
  }

  /** Text written while the first question is being sent belongs to the conversation that it starts. */
  #turn(before: string | undefined): void {
    if (before === "new" && this.draftKey === this.chat.begunId && this.text !== "") {
      keep("new", "");
      keep(this.draftKey, this.text);
      return;
    }
    this.text = recall(this.draftKey);
  }

  override updated(changed: PropertyValues): void {
    const area = this.area;
    if (!area) return;
    // The send button is replaced, so the focus moves to the input.
    if (changed.has("isBusy") && !changed.get("isBusy")) passFocus(() => area);
    if (area.value !== this.text) area.value = this.text;
    area.rows = Math.min(8, Math.max(1, this.text.split("\n").length));
  }

  get area(): HTMLTextAreaElement | null {
    return this.querySelector("textarea");
  }

  override render(): TemplateResult {
    const canSend = this.text.trim() !== "";
    return html`<form class="composer" @submit=${this.#submit}>
      <textarea rows="1" placeholder="Ask something" aria-label="Message" enterkeyhint="send" @input=${this.#input} @keydown=${this.#key}></textarea>
      <div class="composer-foot">
        <span class="choices">${this.#models()}${this.#efforts()}</span>
        ${this.isBusy
          ? html`<button class="round" type="button" aria-label="Stop" title="Stop (Esc)" @click=${this.#stop}>${icon("stop")}</button>`
          : html`<button class="round" type="submit" aria-label="Send" title="Send (Enter)" ?disabled=${!canSend}>${icon("send")}</button>`}
      </div>
    </form>`;
  }

  #models(): TemplateResult | typeof nothing {
    const { models } = this;
    const first = models[0];
    if (!first) return nothing;
    if (models.length === 1) return html`<span class="model">${first.model}</span>`;
    return html`<select aria-label="Model" @change=${this.#choose}>
      ${models.map((one) => html`<option value=${one.name} ?selected=${one.name === (this.chat.model ?? first.name)}>${one.name}</option>`)}
    </select>`;
  }

  #efforts(): TemplateResult | typeof nothing {
    const chosen = this.models.find((one) => one.name === this.chat.model) ?? this.models[0];
    const efforts = chosen?.efforts ?? [];
    if (efforts.length === 0) return nothing;
    return html`<select aria-label="Effort" @change=${(event: Event) => (this.chat.effort = value(event) || undefined)}>
      <option value="">Default effort</option>
      ${efforts.map((one) => html`<option value=${one} ?selected=${one === this.chat.effort}>${one} effort</option>`)}
    </select>`;
  }

  #choose(event: Event): void {
    this.chat.model = value(event);
    this.requestUpdate();
  }

  #input(event: Event): void {
    this.text = value(event);
    keep(this.draftKey, this.text);
  }

  #key(event: KeyboardEvent): void {
    const key = keyOf(event);
    if (key === "Enter" && !event.shiftKey) this.#submit(event);
    if (key === "Escape" && this.isBusy) this.#stop();
  }

  #submit(event: Event): void {
    event.preventDefault();
    const text = this.text.trim();
    if (text === "" || this.isBusy) return;
    this.text = "";
    keep(this.draftKey, "");
    void this.chat.send(text);
  }

  #stop(): void {
    void this.chat.stop();
    this.area?.focus();
  }
}

function value(event: Event): string {
  return (event.target as HTMLTextAreaElement | HTMLSelectElement).value;
}

const PREFIX = "headrace.draft.";

function recall(key: string): string {
  try {
    return localStorage.getItem(PREFIX + key) ?? "";
  } catch {
    return "";
  }
}

function keep(key: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, text);
  } catch {
    // A browser without storage loses the draft, and nothing else.
  }
}

define("headrace-composer", Composer);
