/** The conversations: a new one, a search, and the list, by day. */

import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Conversation } from "../core/api.js";
import type { Chat } from "../core/chat.js";
import { day } from "../core/format.js";
import { define, Element } from "./element.js";
import { icon } from "./icon.js";

const SEARCH_PAUSE_MS = 180;

export class Sidebar extends Element {
  static override properties = {
    chat: { attribute: false },
    conversations: { attribute: false },
    openId: { attribute: false },
    leave: { attribute: false },
    renaming: { state: true },
    deleting: { state: true },
  };
  declare chat: Chat;
  declare conversations: readonly Conversation[];
  declare openId: string | null;
  /** Called when a conversation was chosen: a drawer closes then. */
  declare leave: () => void;
  declare renaming: string;
  declare deleting: string;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override render(): TemplateResult {
    return html`<nav class="sidebar" aria-label="Conversations">
      <button class="new" type="button" @click=${() => this.#open(null)}>${icon("plus")}<span>New conversation</span></button>
      <label class="search">${icon("search")}<input type="search" placeholder="Search" aria-label="Search conversations" @input=${this.#search} /></label>
      <div class="list">${this.#days()}</div>
    </nav>`;
  }

  #days(): unknown {
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
    return html`<li class=${isOpen ? "open" : ""}>
      <button class="title" type="button" aria-current=${isOpen ? "page" : nothing} @click=${() => this.#open(one.id)}>${title}</button>
      <button class="quiet" type="button" aria-label="Rename ${title}" title="Rename" @click=${() => void this.#begin("renaming", one.id)}>${icon("edit")}</button>
      <button class="quiet" type="button" aria-label="Delete ${title}" title="Delete" @click=${() => void this.#begin("deleting", one.id)}>${icon("trash")}</button>
    </li>`;
  }

  #renameForm(one: Conversation): TemplateResult {
    const save = (event: Event): void => {
      event.preventDefault();
      const title = this.querySelector<HTMLInputElement>(".rename input")?.value.trim() ?? "";
      this.renaming = "";
      if (title !== "" && title !== one.title) void this.chat.rename(one.id, title);
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key === "Escape") this.renaming = "";
    };
    return html`<form class="rename" @submit=${save} @keydown=${key}>
      <input aria-label="New title" .value=${one.title} maxlength="200" @blur=${() => (this.renaming = "")} />
    </form>`;
  }

  #deleteForm(one: Conversation): TemplateResult {
    const act = (): void => {
      this.deleting = "";
      void this.chat.delete(one.id);
    };
    return html`<div class="delete" role="group" aria-label="Delete ${one.title}?">
      <span>Delete?</span>
      <button class="plain" type="button" @click=${act}>Delete</button>
      <button class="plain" type="button" @click=${() => (this.deleting = "")}>Keep</button>
    </div>`;
  }

  async #begin(what: "renaming" | "deleting", id: string): Promise<void> {
    this.renaming = "";
    this.deleting = "";
    this[what] = id;
    await this.updateComplete;
    const target = this.querySelector<HTMLElement>(".rename input, .delete button:last-child");
    target?.focus();
    if (target instanceof HTMLInputElement) target.select();
  }

  #open(id: string | null): void {
    void this.chat.show(id);
    this.leave();
  }

  #search(event: Event): void {
    const words = (event.target as HTMLInputElement).value;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.chat.find(words), SEARCH_PAUSE_MS);
  }
}

define("headrace-sidebar", Sidebar);
