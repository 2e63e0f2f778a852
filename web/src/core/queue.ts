/** Messages that were written while an answer was being written. They are asked one after the other when it is there. */

import { keep, ofThisTab, recall } from "./preferences.js";

export interface Queued {
  readonly id: string;
  readonly text: string;
}

/** The queues of all conversations, in this tab: another tab would ask the same again. */
export class Queue {
  #lists = new Map<string, readonly Queued[]>();

  of(conversationId: string): readonly Queued[] {
    const known = this.#lists.get(conversationId);
    if (known) return known;
    const found = parsed(recall(`queue.${conversationId}`, ofThisTab()));
    this.#lists.set(conversationId, found);
    return found;
  }

  add(conversationId: string, id: string, text: string): void {
    this.#set(conversationId, [...this.of(conversationId), { id, text }]);
  }

  /** Remove a message and return it. */
  take(conversationId: string, id: string): Queued | undefined {
    const found = this.of(conversationId).find((one) => one.id === id);
    this.#set(conversationId, this.of(conversationId).filter((one) => one.id !== id));
    return found;
  }

  #set(conversationId: string, list: readonly Queued[]): void {
    this.#lists.set(conversationId, list);
    keep(`queue.${conversationId}`, list.length > 0 ? JSON.stringify(list) : "", ofThisTab());
  }
}

function parsed(text: string): readonly Queued[] {
  try {
    const value: unknown = JSON.parse(text || "[]");
    return Array.isArray(value) ? (value as Queued[]) : [];
  } catch {
    return [];
  }
}
