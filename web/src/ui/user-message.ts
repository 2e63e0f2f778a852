/** A message of the user, which can be edited. */

import { html, nothing, type TemplateResult } from "lit";
import type { ShownMessage } from "../core/api.js";
import type { Chat } from "../core/chat.js";
import "./attachments.js";
import { branchPicker } from "./branch-picker.js";
import { copyButton } from "./copy.js";
import { define, Element, fields, keyOf } from "./element.js";
import { icon } from "./icon.js";
import { isSendKey } from "./send-key.js";
import { t } from "../languages/language.js";

export class UserMessage extends Element {
  static override properties = fields("chat message isEditing isWhole");
  declare chat: Chat;
  declare message: ShownMessage;
  declare isEditing: boolean;
  /** Whether a long message is shown whole. */
  declare isWhole: boolean;

  constructor() {
    super();
    this.isEditing = this.isWhole = false;
  }

  override render(): TemplateResult {
    return html`<article class="message user" part="question" aria-label=${t.you}>
      ${this.#files()}${this.isEditing ? this.#editor() : this.#said()}
      ${this.isEditing ? nothing : this.#foot()}
    </article>`;
  }

  #files(): TemplateResult | typeof nothing {
    const { id, attachments = [] } = this.message;
    const conversationId = this.chat.store.open?.conversation.id;
    if (attachments.length === 0 || !conversationId) return nothing;
    const path = `api/conversations/${encodeURIComponent(conversationId)}/messages/${encodeURIComponent(id)}/attachments`;
    return html`<div class="message-files">${attachments.map((facts, place) => html`<headrace-message-file .api=${this.chat.api} .path=${`${path}/${place}`} .facts=${facts}></headrace-message-file>`)}</div>`;
  }

  #said(): TemplateResult {
    const { text = "" } = this.message;
    if (!isLong(text)) return html`<div class="said" dir="auto">${text}</div>`;
    return html`<div class="said ${this.isWhole ? "" : "folded"}" dir="auto">${text}</div>
      <button class="plain fold" type="button" aria-expanded=${this.isWhole} @click=${() => (this.isWhole = !this.isWhole)}>${this.isWhole ? t.showLess : t.showMore}</button>`;
  }

  #foot(): TemplateResult {
    const branches = branchPicker(this.chat, this.message);
    return html`<div class="foot ${branches === nothing ? "" : "kept"}">
      ${branches}
      <button class="quiet edit" type="button" aria-label=${t.edit} title=${t.edit} @click=${this.edit}>${icon("edit")}</button>
      ${copyButton(() => this.message.text ?? "", t.copyMessage)}
    </div>`;
  }

  #editor(): TemplateResult {
    return html`<form class="editor" @submit=${this.#save} @keydown=${this.#key}>
      <textarea aria-label=${t.message} rows="3" dir="auto" .value=${this.message.text ?? ""}></textarea>
      <div class="row">
        <button class="plain" type="button" @click=${this.#leave}>${t.cancel}</button>
        <button class="strong" type="submit">${t.send}</button>
      </div>
    </form>`;
  }

  async edit(): Promise<void> {
    this.isEditing = true;
    await this.updateComplete;
    this.querySelector("textarea")?.focus();
  }

  async #leave(): Promise<void> {
    this.isEditing = false;
    await this.updateComplete;
    this.querySelector<HTMLElement>(".edit")?.focus({ preventScroll: true });
  }

  #key(event: KeyboardEvent): void {
    if (keyOf(event) === "Escape") {
      event.stopPropagation();
      void this.#leave();
    }
    if (isSendKey(event, this.chat.settings.values.send_key)) this.#save(event);
  }

  #save(event: Event): void {
    event.preventDefault();
    const text = this.querySelector("textarea")?.value.trim() ?? "";
    void this.#leave();
    if (text !== "" && text !== this.message.text) void this.chat.asking.edit(this.message, text);
  }
}

const LONG_CHARS = 1_500;
const LONG_LINES = 16;

function isLong(text: string): boolean {
  return text.length > LONG_CHARS || text.split("\n", LONG_LINES + 1).length > LONG_LINES;
}

define("headrace-user-message", UserMessage);
