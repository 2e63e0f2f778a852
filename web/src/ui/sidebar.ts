/** The sidebar: new conversation, search, and the list by day. */

import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Conversation } from "../core/api.js";
import type { Chat } from "../core/chat.js";
import { day } from "../core/format.js";
import { define, Element, fields, keyOf, passFocus } from "./element.js";
import { icon } from "./icon.js";

const SEARCH_PAUSE_MS = 180;

export class Sidebar extends Element {
  static override properties = fields("chat conversations openId loadingId isListed leave renaming deleting");
  declare chat: Chat;
  declare conversations: readonly Conversation[];
  declare openId: string | null;
  declare loadingId: string | null;
  declare isListed: boolean;
  /** Called with the chosen conversation, or null for a new one; closes the drawer. */
  declare leave: (id: string | null) => void;
  declare renaming: string;
  declare deleting: string;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override render(): TemplateResult {
    return html`<nav class="sidebar" aria-label="Conversations">
      <button class="new" type="button" @click=${() => this.#open(null)}>${icon("plus")}<span>New conversation</span></button>
      <label class="search">${icon("search")}<input type="search" placeholder="Search" aria-label="Search conversations" @input=${this.#search} /></label>
      <div class="list">${this.#days()}
        ${this.chat.hasMore ? html`<button class="plain" type="button" @click=${this.#more}>Show more</button>` : nothing}</div>
    </nav>`;
  }

  #days(): unknown {
    if (!this.chat.isListed) return this.chat.problem ? nothing : html`<div class="skeletons" role="status" aria-label="Loading conversations">${[0, 1, 2, 3].map(() => html`<span class="skeleton"></span>`)}</div>`;
    if (this.conversations.length === 0) {
      return html`<p class="none">${this.chat.search ? "Nothing found." : "No conversations yet."}</p>`;
    }
    const now = Date.now();
    const heading = (one: Conversation): string => (this.chat.search ? "Found" : day(one.updated_ms, now));
    const days = [...new Set(this.conversations.map(heading))];
    return days.map(
      (name) => html`<h2>${name}</h2>
        <ul>${repeat(this.conversations.filter((one) => heading(one) === name), (one) => one.id, (one) => this.#row(one))}</ul>`,
    );
  }

  #row(one: Conversation): TemplateResult {
    if (this.renaming === one.id) return html`<li class="editing">${this.#renameForm(one)}</li>`;
    if (this.deleting === one.id) return html`<li class="editing">${this.#deleteForm(one)}</li>`;
    const isOpen = one.id === this.openId;
    const title = one.title || "Untitled";
    return html`<li class=${isOpen ? "open" : ""} aria-busy=${this.chat.loadingId === one.id ? "true" : nothing}>
      <button class="title" type="button" dir="auto" data-id=${one.id} aria-current=${isOpen ? "page" : nothing} aria-keyshortcuts="F2 Delete"
        title="${title} (F2 renames, Delete deletes)" @click=${() => this.#open(one.id)} @keydown=${this.#rowKey(one)}>${title}</button>
      <button class="quiet" type="button" tabindex="-1" aria-label="Rename ${title}" title="Rename" @click=${() => void this.#begin("renaming", one.id)}>${icon("edit")}</button>
      <button class="quiet" type="button" tabindex="-1" aria-label="Delete ${title}" title="Delete" @click=${() => void this.#begin("deleting", one.id)}>${icon("trash")}</button>
    </li>`;
  }

  /** One tab stop a conversation: the keys of a row do what its buttons do. */
  #rowKey(one: Conversation): (event: KeyboardEvent) => void {
    return (event) => {
      const titles = [...this.querySelectorAll<HTMLElement>(".title")];
      const place = titles.indexOf(event.currentTarget as HTMLElement);
      const actions: Record<string, () => unknown> = {
        F2: () => this.#begin("renaming", one.id),
        Delete: () => this.#begin("deleting", one.id),
        ArrowDown: () => titles[place + 1]?.focus(),
        ArrowUp: () => titles[place - 1]?.focus(),
      };
      const act = actions[keyOf(event)];
      if (!act) return;
      event.preventDefault();
      void act();
    };
  }

  #renameForm(one: Conversation): TemplateResult {
    const save = (event: Event): void => {
      event.preventDefault();
      if (this.renaming !== one.id) return; // The form is gone, and its field loses the focus.
      const title = this.querySelector<HTMLInputElement>(".rename input")?.value.trim() ?? "";
      const isOther = title !== "" && title !== one.title;
      void this.#end(one.id, isOther ? this.chat.rename(one.id, title) : undefined);
    };
    return html`<form class="rename" @submit=${save} @keydown=${this.#escape(one)}>
      <input aria-label="New title" maxlength="200" dir="auto" @blur=${save} />
    </form>`;
  }

  #deleteForm(one: Conversation): TemplateResult {
    const act = (): void => {
      const next = this.conversations[this.conversations.indexOf(one) + 1];
      void this.#end(next?.id, this.chat.delete(one.id));
    };
    return html`<div class="delete" role="group" aria-label="Delete ${one.title}?" @keydown=${this.#escape(one)}>
      <span>Delete?</span>
      <button class="plain" type="button" @click=${act}>Delete</button>
      <button class="plain" type="button" @click=${() => void this.#end(one.id)}>Cancel</button>
    </div>`;
  }

  async #begin(what: "renaming" | "deleting", id: string): Promise<void> {
    this.renaming = this.deleting = "";
    this[what] = id;
    await this.updateComplete;
    const target = this.querySelector<HTMLElement>(".rename input, .delete button:last-child");
    // Not bound to the title: a list that is loaded meanwhile must not replace what is being written.
    if (target instanceof HTMLInputElement) target.value = this.conversations.find((one) => one.id === id)?.title ?? "";
    target?.focus();
    if (target instanceof HTMLInputElement) target.select();
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
    this.renaming = this.deleting = "";
    pass();
    await work;
    pass();
  }

  /** Move the focus to the first of the new entries. */
  async #more(): Promise<void> {
    const { length } = this.conversations;
    await this.chat.more();
    requestAnimationFrame(() => this.querySelectorAll<HTMLElement>(".title")[length]?.focus());
  }

  #open(id: string | null): void {
    void this.chat.show(id);
    this.leave(id);
  }

  #search(event: Event): void {
    const words = (event.target as HTMLInputElement).value;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.chat.find(words), SEARCH_PAUSE_MS);
  }
}

define("headrace-sidebar", Sidebar);
