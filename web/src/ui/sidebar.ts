/** The sidebar: new conversation, search, and the list by day. */

import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Conversation } from "../core/api.js";
import type { Chat } from "../core/chat.js";
import type { Store } from "../core/store.js";
import { day } from "../core/format.js";
import { t } from "../languages/language.js";
import { define, Element, fields, keyOf, passFocus } from "./element.js";
import { icon } from "./icon.js";

const SEARCH_PAUSE_MS = 180;

export class Sidebar extends Element {
  static override properties = fields("chat conversations pinned removed states openId loadingId isListed leave renaming");
  declare chat: Chat;
  declare conversations: readonly Conversation[];
  declare pinned: readonly Conversation[];
  declare removed: Chat["removed"];
  declare states: Store["states"];
  declare openId: string | null;
  declare loadingId: string | null;
  declare isListed: boolean;
  /** Called with the chosen conversation, or null for a new one; closes the drawer. */
  declare leave: (id: string | null) => void;
  declare renaming: string;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override render(): TemplateResult {
    return html`<nav class="sidebar" aria-label=${t.conversations}>
      <button class="new" type="button" @click=${() => this.#open(null)}>${icon("plus")}<span>${t.newConversation}</span></button>
      <label class="search">${icon("search")}<input type="search" placeholder=${t.search} aria-label=${t.searchConversations} @input=${this.#search} @keydown=${this.#searchKey} /></label>
      <div class="list">${this.#days()}
        ${this.chat.list.hasMore ? html`<button class="plain" type="button" @click=${this.#more}>${t.showMore}</button>` : nothing}</div>
      <button class="new settings" type="button" data-dialog="settings">${icon("settings")}<span>${t.settings}</span><span class="user">${this.#user}</span></button>
    </nav>`;
  }

  /** Name of the user, if the server knows several. */
  get #user(): string {
    const { account } = this.chat;
    return account && account.carrier !== "none" ? account.user : "";
  }

  #days(): unknown {
    if (!this.chat.list.isLoaded) return this.chat.problem ? nothing : html`<div class="skeletons" role="status" aria-label=${t.loadingConversations}>${[0, 1, 2, 3].map(() => html`<span class="skeleton"></span>`)}</div>`;
    const isFound = this.chat.list.words !== "";
    const gone = new Set(this.removed.map((one) => one.id));
    const rest = this.conversations.filter((one) => isFound || !one.is_pinned);
    const shown = [...(isFound ? [] : this.pinned), ...rest].filter((one) => !gone.has(one.id));
    if (shown.length === 0) return html`<p class="none">${isFound ? t.nothingFound : t.noConversations}</p>`;
    const now = Date.now();
    const heading = (one: Conversation): string => (isFound ? t.found : one.is_pinned ? t.pinned : day(one.updated_ms, now));
    const days = [...new Set(shown.map(heading))];
    return days.map(
      (name) => html`<h2>${name}</h2>
        <ul>${repeat(shown.filter((one) => heading(one) === name), (one) => one.id, (one) => this.#row(one))}</ul>`,
    );
  }

  #row(one: Conversation): TemplateResult {
    if (this.renaming === one.id) return html`<li class="editing">${this.#renameForm(one)}</li>`;
    const isOpen = one.id === this.openId;
    const title = one.title || t.untitled;
    const state = isOpen ? undefined : (this.states[one.id] ?? (one.is_unread ? "unread" : undefined));
    const hit = this.chat.list.words ? this.chat.store.hits[one.id] : undefined;
    return html`<li class="${isOpen ? "open" : ""} ${hit ? "hit" : ""}" aria-busy=${this.chat.loadingId === one.id ? "true" : nothing}>
      <button class="title ${state ?? ""}" type="button" dir="auto" data-id=${one.id} aria-current=${isOpen ? "page" : nothing} aria-keyshortcuts="F2 Delete P"
        title=${t.rowKeys(title, state ? t.states[state] : "")} @click=${() => this.#open(one.id, hit?.message_id)} @keydown=${this.#rowKey(one)}>${hit ? html`<span class="name">${title}</span><span class="snippet">${hit.snippet.map((part) => (part.is_match ? html`<mark>${part.text}</mark>` : part.text))}</span>` : title}</button>
      <button class="quiet pin" type="button" tabindex="-1" aria-pressed=${one.is_pinned ? "true" : "false"} aria-label=${one.is_pinned ? t.unpinOne(title) : t.pinOne(title)} title=${one.is_pinned ? t.unpin : t.pin} @click=${() => this.#pin(one)}>${icon("pin")}</button>
      <button class="quiet" type="button" tabindex="-1" aria-label=${t.renameOne(title)} title=${t.rename} @click=${() => void this.#begin(one.id)}>${icon("edit")}</button>
      <button class="quiet" type="button" tabindex="-1" aria-label=${t.deleteOne(title)} title=${t.delete} @click=${() => this.#delete(one)}>${icon("trash")}</button>
    </li>`;
  }

  /** One tab stop a conversation: the keys of a row do what its buttons do. */
  #rowKey(one: Conversation): (event: KeyboardEvent) => void {
    return (event) => {
      const titles = [...this.querySelectorAll<HTMLElement>(".title")];
      const place = titles.indexOf(event.currentTarget as HTMLElement);
      const actions: Record<string, () => unknown> = {
        F2: () => this.#begin(one.id),
        Delete: () => this.#delete(one),
        p: () => this.#pin(one),
        ArrowDown: () => titles[place + 1]?.focus(),
        ArrowUp: () => (titles[place - 1] ?? this.#field)?.focus(),
      };
      const act = event.ctrlKey || event.metaKey ? undefined : actions[keyOf(event)];
      if (!act) return;
      event.preventDefault();
      void act();
    };
  }

  /** The attribute `value` is where the field begins: a list that is loaded later does not replace what is being written. */
  #renameForm(one: Conversation): TemplateResult {
    const save = (event: Event): void => {
      event.preventDefault();
      if (this.renaming !== one.id) return; // The form is gone, and its field loses the focus.
      const title = this.querySelector<HTMLInputElement>(".rename input")?.value.trim() ?? "";
      const isOther = title !== "" && title !== one.title;
      void this.#end(one.id, isOther ? this.chat.change(one.id, { title }) : undefined);
    };
    return html`<form class="rename" @submit=${save} @keydown=${this.#escape(one)}>
      <input aria-label=${t.newTitle} maxlength="200" dir="auto" value=${one.title} @blur=${save} />
    </form>`;
  }

  async #begin(id: string): Promise<void> {
    this.renaming = id;
    await this.updateComplete;
    const target = this.querySelector<HTMLInputElement>(".rename input");
    if (!target) return;
    target.focus();
    target.select();
  }

  #pin(one: Conversation): void {
    void this.#end(one.id, this.chat.change(one.id, { is_pinned: !one.is_pinned }));
  }

  #delete(one: Conversation): void {
    const titles = [...this.querySelectorAll<HTMLElement>(".title")].map((title) => title.dataset["id"]);
    const next = titles[titles.indexOf(one.id) + 1];
    void this.#end(next, this.chat.delete(one.id));
  }

  /** Close the form, but not the drawer. */
  #escape(one: Conversation): (event: KeyboardEvent) => void {
    return (event) => {
      if (keyOf(event) !== "Escape") return;
      event.stopPropagation();
      void this.#end(one.id);
    };
  }

  /** Replace the form by its row. The following action may move rows and take the focus away again. */
  async #end(id: string | undefined, work?: Promise<void>): Promise<void> {
    const pass = (): void => passFocus(() => this.querySelector<HTMLElement>(id ? `[data-id="${id}"]` : ".new"));
    this.renaming = "";
    pass();
    await work;
    pass();
  }

  /** Move the focus to the first of the new entries. */
  async #more(): Promise<void> {
    const { length } = this.conversations;
    await this.chat.list.more();
    requestAnimationFrame(() => this.querySelectorAll<HTMLElement>(".title")[length]?.focus());
  }

  /** A new conversation ends a search: what was found would hide it. */
  #open(id: string | null, messageId?: string): void {
    if (id === null) this.#endSearch();
    void this.chat.show(id, messageId);
    this.leave(id);
  }

  get #field(): HTMLInputElement | null {
    return this.querySelector(".search input");
  }

  #search(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.chat.list.find(this.#field?.value ?? ""), SEARCH_PAUSE_MS);
  }

  /** Escape ends the search, and must not stop an answer then. */
  #searchKey(event: KeyboardEvent): void {
    const isWritten = this.#field?.value !== "";
    const actions: Record<string, () => unknown> = {
      ArrowDown: () => this.querySelector<HTMLElement>(".title")?.focus(),
      ...(isWritten && { Enter: () => this.#openFirst(), Escape: () => this.#endSearch() }),
    };
    const act = actions[keyOf(event)];
    if (!act) return;
    event.preventDefault();
    void act();
  }

  /** Open what is found first. The list may show something else for a moment, so it is not asked. */
  async #openFirst(): Promise<void> {
    const { chat } = this;
    const words = this.#field?.value ?? "";
    clearTimeout(this.#timer);
    void chat.list.find(words);
    await chat.guard(async () => {
      const { conversations, hits } = await chat.api.conversations(words, null);
      const first = conversations.find((one) => !chat.removed.some(({ id }) => id === one.id));
      if (first) this.#open(first.id, hits?.[first.id]?.message_id);
    });
  }

  #endSearch(): void {
    const field = this.#field;
    clearTimeout(this.#timer);
    if (field) field.value = "";
    if (this.chat.list.words !== "") void this.chat.list.find("");
  }
}

define("headrace-sidebar", Sidebar);
