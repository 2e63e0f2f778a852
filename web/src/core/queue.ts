/** Messages that were written while an answer was being written. They are asked one after the other when it is there. */

import type { API, Ask } from "./api.js";
import type { StreamingBus } from "./bus.js";
import type { MessageEvent } from "./event.js";
import { keep, ofThisTab, recall } from "./preferences.js";
import { randomKey, type Pending } from "./question.js";
import type { StreamingSessionManager } from "./session.js";
import type { Store } from "./store.js";
import { t } from "../languages/language.js";

export interface Queued {
  readonly id: string;
  readonly text: string;
}

/** What the queue needs of its chat. */
interface Asker {
  readonly api: API;
  readonly store: Store;
  readonly bus: StreamingBus;
  readonly sessions: StreamingSessionManager;
  readonly asking: Readonly<{ pending: Pending | null; send(text: string): Promise<void> }>;
  readonly isBusy: boolean;
  readonly changed: () => void;
  readonly announce: (text: string) => void;
  refresh(): Promise<void>;
}

/** The queues of all conversations, in this tab: another tab would ask the same again. */
export class Queue {
  /** By conversation, and what was said to an answer by `saidTo()` its id. */
  #lists = new Map<string, readonly Queued[]>();

  constructor(readonly chat: Asker) {}

  /** The queue of the open conversation, or of the one that is about to begin. */
  get list(): readonly Queued[] {
    return this.#of(this.#key);
  }

  /** What was said to the answer that is being written, and the model has not read yet. */
  get said(): readonly Queued[] {
    const { bus, store } = this.chat;
    const id = store.liveBelow?.event_id;
    return id === undefined ? [] : unread(this.#of(saidTo(id)), bus.draft(id)?.userTexts ?? []);
  }

  get #key(): string {
    return this.chat.store.open?.conversation.id ?? this.chat.asking.pending?.key ?? "";
  }

  /** Ask a message when the answer is there. */
  add(text: string): void {
    this.#set(this.#key, [...this.list, { id: randomKey(), text }]);
    this.chat.announce(t.queued);
    this.chat.changed();
  }

  /** Remove a message and return its text. */
  take(id: string): string {
    const found = this.list.find((one) => one.id === id);
    this.#set(this.#key, this.list.filter((one) => one.id !== id));
    this.chat.changed();
    return found?.text ?? "";
  }

  /** Give the queue of a question to the conversation that it has begun. */
  move(from: string, to: string): void {
    const list = this.#of(from);
    if (list.length === 0) return;
    this.#set(from, []);
    this.#set(to, [...this.#of(to), ...list]);
  }

  /** Say a message to the model at once: with its next step, or as a question if nothing is being written. */
  async sendNow(id: string): Promise<void> {
    const { chat } = this;
    const open = chat.store.open;
    const live = chat.store.liveBelow;
    const text = this.take(id);
    if (text === "") return;
    if (!live || !open) return await chat.asking.send(text);
    try {
      const ask: Ask = { message: text, conversation_id: open.conversation.id, parent_id: live.parent_id, mode: "steer" };
      const begun = await chat.api.ask(ask, id);
      void begun.response.body?.cancel();
      if (begun.eventId === live.event_id) {
        const key = saidTo(live.event_id);
        this.#set(key, [...this.#of(key), { id: randomKey(), text }]);
        chat.sessions.hurry(live.event_id);
        chat.changed();
      } else await chat.refresh(); // The answer was over, and this is asked next.
    } catch (error) {
      this.#set(open.conversation.id, [{ id, text }, ...this.#of(open.conversation.id)]);
      chat.announce(t.notSentBecause((error as Error).message));
      chat.changed();
    }
  }

  /** Ask what comes next, unless the answer did not end as it should. */
  next(event: MessageEvent): void {
    const isBroken = Boolean(event.error) || event.finish?.word === "aborted";
    if (isBroken) this.#restore(event);
    this.#set(saidTo(event.id), []);
    const first = this.list[0];
    if (!first || isBroken || this.chat.isBusy) return;
    void this.chat.asking.send(this.take(first.id));
  }

  /** Put back what the model has not heard: the server does not ask it after an answer that broke off. */
  #restore(event: MessageEvent): void {
    const read = event.segments.flatMap((one) => (one.type === "user_message" ? [one.text] : []));
    const left = unread(this.#of(saidTo(event.id)), read);
    if (left.length === 0) return;
    this.#set(this.#key, [...left, ...this.list]);
    this.chat.changed();
  }

  #of(key: string): readonly Queued[] {
    const known = this.#lists.get(key);
    if (known) return known;
    const found = parsed(recall(`queue.${key}`, ofThisTab()));
    this.#lists.set(key, found);
    return found;
  }

  #set(key: string, list: readonly Queued[]): void {
    this.#lists.set(key, list);
    keep(`queue.${key}`, list.length > 0 ? JSON.stringify(list) : "", ofThisTab());
  }
}

function saidTo(eventId: string): string {
  return `said.${eventId}`;
}

/** The messages that are not among the texts that the model has read. One that was said twice is read twice. */
function unread(said: readonly Queued[], read: readonly string[]): readonly Queued[] {
  const texts = [...read];
  return said.filter(({ text }) => {
    const place = texts.indexOf(text);
    if (place >= 0) texts.splice(place, 1);
    return place < 0;
  });
}

function parsed(text: string): readonly Queued[] {
  try {
    const value: unknown = JSON.parse(text || "[]");
    return Array.isArray(value) ? (value as Queued[]) : [];
  } catch {
    return [];
  }
}
