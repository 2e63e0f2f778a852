/** The drafts of all answers that are streaming, and their subscribers.
 *
 * Drafts are never stored: they are dropped when the last frame has arrived. */

import { EventDraft } from "./draft.js";
import type { Frame } from "./frame.js";

export class StreamingBus {
  #drafts = new Map<string, EventDraft>();
  #watchers = new Map<string, Set<() => void>>();

  draft(eventId: string): EventDraft | undefined {
    return this.#drafts.get(eventId);
  }

  /** Number of drafts. */
  get size(): number {
    return this.#drafts.size;
  }

  open(eventId: string, createdAt: number): EventDraft {
    let draft = this.#drafts.get(eventId);
    if (!draft) {
      draft = new EventDraft(eventId, createdAt);
      this.#drafts.set(eventId, draft);
    }
    return draft;
  }

  feed(eventId: string, frames: readonly Frame[]): void {
    const draft = this.#drafts.get(eventId);
    if (!draft || frames.length === 0) return;
    for (const frame of frames) draft.feed(frame);
    this.#tell(eventId);
  }

  clear(eventId: string): void {
    this.#drafts.delete(eventId);
    this.#tell(eventId);
  }

  /** Subscribe to changes, at most one call per network read. Returns the unsubscribe function. */
  watch(eventId: string, callback: () => void): () => void {
    const watchers = this.#watchers.get(eventId) ?? new Set();
    this.#watchers.set(eventId, watchers.add(callback));
    return () => {
      watchers.delete(callback);
      if (watchers.size === 0) this.#watchers.delete(eventId);
    };
  }

  #tell(eventId: string): void {
    for (const callback of this.#watchers.get(eventId) ?? []) callback();
  }
}
