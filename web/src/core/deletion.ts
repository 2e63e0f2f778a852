/** Deletions that can be undone for some seconds.
 *
 * Until then nothing is deleted. What is about to be deleted is kept in this browser: if the page is closed before the
 * seconds are over, the next page hides it, offers to undo it, and deletes it then. */

import type { Chat } from "./chat.js";
import { t } from "../languages/language.js";
import { keep, recall } from "./preferences.js";

const UNDO_MS = 8_000;
const NAME = "deleted";

/** A conversation that is about to be deleted. */
export interface Removed {
  readonly id: string;
  readonly title: string;
  /** Whether it was open when it was deleted. */
  readonly wasOpen?: boolean;
}

export class Deletions {
  #timers = new Map<string, ReturnType<typeof setTimeout>>();
  /** Whether this browser keeps anything. */
  #isKept = false;

  constructor(readonly chat: Chat) {}

  /** Hide a conversation, and delete it when the time to undo it is over. */
  add(removed: Removed): void {
    this.#set([...this.chat.removed, removed]);
    this.#wait(removed.id);
    this.chat.announce(t.deleted(removed.title));
  }

  /** Go on with what an earlier page has begun. */
  resume(): void {
    const known = new Set(this.chat.removed.map((one) => one.id));
    const left = parsed(recall(NAME)).filter((one) => !known.has(one.id));
    this.#set([...this.chat.removed, ...left]);
    for (const { id } of left) this.#wait(id);
  }

  undo(id: string): void {
    clearTimeout(this.#timers.get(id));
    this.#forget(id);
    this.chat.announce(t.restored);
  }

  #wait(id: string): void {
    this.#timers.set(id, setTimeout(() => void this.#delete(id), UNDO_MS));
  }

  async #delete(id: string): Promise<void> {
    // Another tab may have undone it.
    const isWanted = !this.#isKept || parsed(recall(NAME)).some((one) => one.id === id);
    if (isWanted) await this.chat.remove(id);
    this.#forget(id);
  }

  #forget(id: string): void {
    this.#timers.delete(id);
    this.#set(this.chat.removed.filter((one) => one.id !== id));
  }

  #set(removed: readonly Removed[]): void {
    this.chat.removed = removed;
    keep(NAME, removed.length > 0 ? JSON.stringify(removed) : "");
    if (removed.length > 0) this.#isKept = recall(NAME) !== "";
    this.chat.changed();
  }
}

function parsed(text: string): Removed[] {
  try {
    const value: unknown = JSON.parse(text || "[]");
    return Array.isArray(value) ? (value as Removed[]) : [];
  } catch {
    return [];
  }
}
