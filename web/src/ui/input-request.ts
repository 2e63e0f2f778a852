/** A request for input: what is asked, the fields and buttons to answer it, and the answer. */

import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Chat } from "../core/chat.js";
import type { InputAnswer, InputRequest } from "../core/event.js";
import { shownBriefly, shownValue } from "../core/format.js";
import { define, Element, fields, keyOf } from "./element.js";
import { icon } from "./icon.js";
import { flatSchema, schemaFields, schemaValue } from "./schema-form.js";

const WAITING = {
  approval: "Waiting for your approval",
  text: "Waiting for your answer",
  form: "Waiting for your answer",
  result: "Waiting for the result",
} as const;

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

  /** Keep the focus in its place when the buttons are gone. */
  override updated(changed: PropertyValues): void {
    if (changed.has("request") && this.#hadFocus && !this.#isOpen) this.querySelector<HTMLElement>(".request")?.focus();
  }

  override render(): TemplateResult {
    const { request } = this;
    const brief = shownBriefly(request.args);
    return html`<section class="request ${this.#isOpen ? "open" : ""}" tabindex="-1" aria-label="Request of ${request.name}">
      <div class="request-head">
        <span class="tool-mark">${icon("tool")}</span><span class="tool-name">${request.name}</span>
        ${this.#isOpen || brief === "" ? nothing : html`<span class="tool-brief">${brief}</span>`}
        <span class="request-state">${this.#isOpen ? WAITING[request.kind] : outcome(request)}</span>
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
      <label class="request-reason">Reason for a denial (optional)<input name="reason" type="text" autocomplete="off" @keydown=${this.#key} /></label>
      <div class="request-buttons">
        <button class="strong" type="submit" title="Ctrl+Enter" aria-keyshortcuts="Control+Enter Meta+Enter">${kind === "approval" ? "Approve" : "Send answer"}</button>
        <button class="plain" type="button" @click=${this.#deny}>Deny</button>
        ${kind === "approval" ? html`<button class="plain" type="button" @click=${this.#approveAlways}>Always in this run</button>` : nothing}
      </div>
      ${this.problem ? html`<p class="request-problem" role="alert">${this.problem}</p>` : nothing}
    </form>`;
  }

  /** The arguments of a call that is to be approved can be changed. */
  #args(): TemplateResult {
    const text = shownValue(this.request.args);
    if (this.request.kind !== "approval") return html`<pre class="request-args" tabindex="0">${text}</pre>`;
    const rows = Math.min(12, text.split("\n").length);
    return html`<label>Arguments, which you may change<textarea class="json request-args" name="args" rows=${rows} spellcheck="false" .defaultValue=${text}></textarea></label>`;
  }

  #field(): TemplateResult {
    const { kind, schema } = this.request;
    if (kind === "text") return html`<label>Answer<textarea name="value" rows="2"></textarea></label>`;
    const flat = flatSchema(schema);
    if (flat) return schemaFields(flat);
    return html`<label>Value as JSON<textarea class="json" name="value" rows="4" spellcheck="false"></textarea></label>
      ${schema ? html`<details><summary>Schema</summary><pre tabindex="0">${shownValue(schema)}</pre></details>` : nothing}`;
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
      this.problem = "This is not valid JSON.";
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
      this.problem = "The arguments must be a JSON object.";
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
    const reason = this.querySelector("input")?.value.trim() ?? "";
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
      this.problem = `Not sent: ${(error as Error).message}`;
    }
    this.#isSending = false;
  }
}

function outcome(request: InputRequest): string {
  const { decision, kind, reason } = request;
  if (decision === undefined) return "Not answered";
  if (decision === "expired") return "Expired";
  if (decision === "denied") return reason ? `Denied: ${reason}` : "Denied";
  if (kind !== "approval") return "Answered";
  return request.is_always ? "Always approved in this run" : request.value ? "Approved with changes" : "Approved";
}

define("headrace-input-request", InputRequestRow);
