/** A request for input: what is asked, the fields and buttons to answer it, and the answer. */

import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Chat } from "../core/chat.js";
import type { InputAnswer, InputRequest } from "../core/event.js";
import { shownBriefly, shownValue } from "../core/format.js";
import { define, Element, fields, keyOf } from "./element.js";
import { icon } from "./icon.js";
import { flatSchema, schemaFields, schemaValue } from "./schema-form.js";
import { t } from "../languages/language.js";

export class InputRequestRow extends Element {
  static override properties = fields("chat eventId request problem");
  declare chat: Chat;
  /** Id of the streaming answer; empty if the answer is over. */
  declare eventId: string;
  declare request: InputRequest;
  declare problem: string;
  #isSending = false;
  #hadFocus = false;

  constructor() {
    super();
    this.problem = "";
  }

  get #isOpen(): boolean {
    return this.request.decision === undefined && this.eventId !== "";
  }

  override willUpdate(): void {
    this.#hadFocus = this.querySelector("form")?.matches(":focus-within") ?? false;
  }

  override firstUpdated(): void {
    if (this.#isOpen) this.dispatchEvent(new Event("headrace-asked", { bubbles: true }));
  }

  /** Keep the focus in its place when the buttons are gone. */
  override updated(changed: PropertyValues): void {
    if (changed.has("request") && this.#hadFocus && !this.#isOpen) this.querySelector<HTMLElement>(".request")?.focus();
  }

  override render(): TemplateResult {
    const { request } = this;
    // What counts in the end: the arguments as they were changed, or the answer.
    const brief = shownBriefly(this.#isOpen ? request.args : (request.value ?? request.args));
    return html`<section class="request ${this.#isOpen ? "open" : ""}" tabindex="-1" aria-label=${t.requestOf(request.name)}>
      <div class="request-head">
        <span class="tool-mark">${icon("tool")}</span><span class="tool-name">${request.name}</span>
        ${this.#isOpen || brief === "" ? nothing : html`<span class="tool-brief">${brief}</span>`}
        <span class="request-state">${this.#isOpen ? t.waitingFor[request.kind] : outcome(request)}</span>
      </div>
      ${request.message ? html`<p class="request-message">${request.message}</p>` : nothing}
      ${this.#isOpen ? this.#form(brief !== "") : nothing}
    </section>`;
  }

  #form(hasArgs: boolean): TemplateResult {
    const { kind } = this.request;
    return html`<form @submit=${this.#submit} @keydown=${this.#formKey}>
      ${hasArgs ? this.#args() : nothing}
      ${kind === "approval" ? nothing : this.#field()}
      <div class="request-buttons">
        <button class="strong" type="submit" title="Ctrl+Enter" aria-keyshortcuts="Control+Enter Meta+Enter">${kind === "approval" ? t.approve : t.sendAnswer}</button>
        <button class="plain" type="button" @click=${this.#deny}>${t.deny}</button>
        ${kind === "approval" ? html`<button class="plain" type="button" @click=${this.#approveAlways}>${t.always}</button>` : nothing}
      </div>
      <details class="request-reason"><summary>${t.denyWithReason}</summary>
        <label>${t.reason}<input name="reason" type="text" autocomplete="off" @keydown=${this.#key} /></label>
      </details>
      ${this.problem ? html`<p class="request-problem" role="alert">${this.problem}</p>` : nothing}
    </form>`;
  }

  /** The arguments of a call that is to be approved can be changed. */
  #args(): TemplateResult {
    const text = shownValue(this.request.args);
    if (this.request.kind !== "approval") return html`<pre class="request-args" tabindex="0">${text}</pre>`;
    // Nothing may be approved that is out of sight. Browsers that can fit the field to its text do so by themselves.
    const rows = Math.min(12, text.split("\n").length + Math.floor(text.length / 60));
    return html`<label>${t.changeableArguments}<textarea class="json request-args" name="args" rows=${rows} spellcheck="false" .defaultValue=${text}></textarea></label>`;
  }

  #field(): TemplateResult {
    const { kind, schema } = this.request;
    if (kind === "text") return html`<label>${t.answer}<textarea name="value" rows="2"></textarea></label>`;
    const flat = flatSchema(schema);
    if (flat) return schemaFields(flat);
    return html`<label>${t.jsonValue}<textarea class="json" name="value" rows="4" spellcheck="false"></textarea></label>
      ${schema ? html`<details><summary>${t.schema}</summary><pre tabindex="0">${shownValue(schema)}</pre></details>` : nothing}`;
  }

  #submit(event: Event): void {
    event.preventDefault();
    const { kind } = this.request;
    if (kind === "approval") return this.#approve(false);
    const flat = kind === "text" ? null : flatSchema(this.request.schema);
    if (flat) return void this.#send({ decision: "accepted", value: schemaValue(this, flat) });
    const text = this.querySelector<HTMLTextAreaElement>("[name=value]")?.value ?? "";
    if (kind === "text") return void this.#send({ decision: "accepted", value: text });
    try {
      void this.#send({ decision: "accepted", value: JSON.parse(text) as unknown });
    } catch {
      this.problem = t.notJSON;
    }
  }

  /** Approve the call, with the arguments as they were changed. */
  #approve(isAlways: boolean): void {
    const always = isAlways ? { is_always: true } : {};
    const area = this.querySelector<HTMLTextAreaElement>("[name=args]");
    if (!area || area.value === area.defaultValue) return void this.#send({ decision: "accepted", ...always });
    try {
      const value: unknown = JSON.parse(area.value);
      if (typeof value !== "object" || value === null || Array.isArray(value)) throw new SyntaxError();
      void this.#send({ decision: "accepted", value, ...always });
    } catch {
      this.problem = t.notObject;
      area.focus();
    }
  }

  #formKey(event: KeyboardEvent): void {
    if (keyOf(event) !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.querySelector("form")?.requestSubmit();
  }

  /** Enter in the field of the reason must not approve the call. */
  #key(event: KeyboardEvent): void {
    if (keyOf(event) !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    this.#deny();
  }

  #deny(): void {
    const reason = this.querySelector<HTMLInputElement>(".request-reason input")?.value.trim() ?? "";
    void this.#send({ decision: "denied", ...(reason && { reason }) });
  }

  #approveAlways(): void {
    this.#approve(true);
  }

  async #send(answer: InputAnswer): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    this.problem = "";
    try {
      await this.chat.answer(this.eventId, this.request.request_id, answer);
    } catch (error) {
      this.problem = t.notSentBecause((error as Error).message);
    }
    this.#isSending = false;
  }
}

function outcome(request: InputRequest): string {
  const { decision, kind, reason } = request;
  if (decision === undefined) return t.notAnswered;
  if (decision === "expired") return t.expired;
  if (decision === "denied") return reason ? t.deniedBecause(reason) : t.denied;
  if (kind !== "approval") return t.answered;
  return request.is_always ? t.approvedAlways : request.value ? t.approvedChanged : t.approved;
}

define("headrace-input-request", InputRequestRow);
