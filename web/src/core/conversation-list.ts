/** The list of conversations: as many pages of it as are shown, of all or of those with some words. */

import type { Page } from "./api.js";
import type { Chat } from "./chat.js";

/** How often the list is loaded while an answer is written that is not shown. */
const LOOK_AGAIN_MS = 3_000;

export class ConversationList {
  /** The words that are searched for; empty for all conversations. */
  words = "";
  /** Whether the list has been loaded. */
  isLoaded = false;
  /** Whether there are older conversations than those in the list. */
  hasMore = false;
  readonly #chat: Chat;
  #shown = 0;
  #loads = 0;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  /** Load as many pages as are shown. */
  async load(): Promise<void> {
    const { api, store } = this.#chat;
    const number = (this.#loads += 1);
    const found = [];
    let before: string | null = null;
    let states: Page["live"];
    let pinned: NonNullable<Page["pinned"]> = [];
    let hits: NonNullable<Page["hits"]> = {};
    do {
      const { conversations, next, live, pinned: marked, hits: places }: Page = await api.conversations(this.words, before);
      found.push(...conversations);
      if (!before) [pinned, hits] = [marked ?? [], places ?? {}];
      states = live;
      before = next;
      if (number !== this.#loads) return; // A later one, perhaps of other words, counts.
    } while (before && found.length < this.#shown);
    store.conversations = found;
    store.pinned = pinned;
    store.hits = hits;
    this.#follow(states ?? {});
    this.isLoaded = true;
    this.hasMore = before !== null;
    this.#chat.changed();
  }

  /** Load one more page. */
  async more(): Promise<void> {
    this.#shown = this.#chat.store.conversations.length + 1;
    await this.#chat.guard(() => this.load());
  }

  /** Show the conversations with these words. */
  async find(words: string): Promise<void> {
    this.words = words;
    await this.#chat.guard(() => this.load());
  }

  close(): void {
    clearTimeout(this.#again);
  }

  /** Keep the states of other conversations, and look again while one of them changes by itself. */
  #follow(states: NonNullable<Page["live"]>): void {
    const { store } = this.#chat;
    store.states = states;
    const openId = store.open?.conversation.id;
    clearTimeout(this.#again);
    const isChanging = Object.entries(states).some(([id, state]) => id !== openId && state === "writing");
    if (isChanging) this.#again = setTimeout(() => void this.#chat.guard(() => this.load()), LOOK_AGAIN_MS);
  }
}
