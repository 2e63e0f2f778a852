/** The streaming bus: the drafts of all events that are being written, and who watches them.
 * Nothing of it is ever stored: it is emptied when the event's last frame has come. */

import { EventDraft } from "./draft.js";
import type { Frame } from "./frame.js";

export class StreamingBus {
  #drafts = new Map<string, EventDraft>();
  #watchers = new Map<string, Set<() => void>>();

  draft(eventId: string): EventDraft | undefined {
    return this.#drafts.get(eventId);
  }

  /** How many events have buffers. */
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

  /** Call back on every change; at most once for a read from the network. Returns how to stop. */
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
