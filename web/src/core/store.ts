/** The client's copy of conversations and messages. An answer is written once, when its last frame has arrived. */

import type { AnswerState, Conversation, Hit, LiveEvent, ShownMessage, WholeConversation } from "./api.js";
import type { MessageEvent } from "./event.js";
import { branch } from "./tree.js";

export interface Open {
  conversation: Conversation;
  readonly messages: Map<string, ShownMessage>;
  readonly live: Map<string, LiveEvent>;
  leafId: string | null;
  /** The cursor of the page of earlier messages; null if all are here. */
  earlier: string | null;
}

export class Store {
  conversations: readonly Conversation[] = [];
  pinned: readonly Conversation[] = [];
  /** Where the search has found its words, by id of the conversation. */
  hits: Readonly<Record<string, Hit>> = {};
  open: Open | null = null;
  /** States of the answers of other conversations, by id of the conversation. */
  states: Readonly<Record<string, AnswerState>> = {};
  /** Number of answers written. */
  writes = 0;

  /** Replace the content by the server's, except for an answer that began meanwhile. */
  show(whole: WholeConversation, isStreaming: (eventId: string) => boolean = () => false): void {
    const before = this.open?.conversation.id === whole.conversation.id ? this.open : null;
    const kept = before ? this.#earlierThan(whole, before) : null;
    const messages = new Map([...(kept ?? []), ...whole.messages].map((one) => [one.id, one]));
    const live = new Map(whole.live.map((one) => [one.event_id, one]));
    let leafId = whole.conversation.leaf_id;
    // An answer that ended here stays ended, even if an older response says otherwise.
    for (const id of live.keys()) {
      const ended = before?.messages.get(id);
      if (ended) messages.set(id, ended);
      if (ended && before?.leafId === id) leafId = id;
      if (messages.has(id)) live.delete(id);
    }
    for (const [id, begun] of before?.live ?? []) {
      if (!isStreaming(id) || messages.has(id) || live.has(id)) continue;
      live.set(id, begun);
      const question = before?.messages.get(begun.parent_id);
      if (question) messages.set(question.id, question);
      leafId = begun.parent_id;
    }
    const earlier = (kept && before ? before.earlier : whole.earlier) ?? null;
    this.open = { conversation: whole.conversation, messages, live, leafId, earlier };
  }

  /** Return the messages that were loaded before and continue this page upwards; null if there are none, or a gap. */
  #earlierThan(whole: WholeConversation, before: Open): ShownMessage[] | null {
    const ids = new Set(whole.messages.map((one) => one.id));
    const first = [...before.messages.keys()].findIndex((id) => ids.has(id));
    return whole.earlier && first > 0 ? [...before.messages.values()].slice(0, first) : null;
  }

  /** Add a page of earlier messages. */
  extend(page: WholeConversation): void {
    const open = this.open;
    if (open?.conversation.id !== page.conversation.id) return;
    const later = [...open.messages.values()];
    open.messages.clear();
    for (const one of [...page.messages, ...later]) open.messages.set(one.id, one);
    open.earlier = page.earlier ?? null;
  }

  /** Whether the visible branch has messages that are not loaded. */
  get hasEarlier(): boolean {
    return Boolean(this.open?.earlier) && this.branch.at(0)?.parent_id !== null;
  }

  /** Add a question whose answer has begun. */
  begin(conversation: Conversation, question: ShownMessage | null, live: LiveEvent): void {
    if (this.open?.conversation.id !== conversation.id) {
      this.open = { conversation, messages: new Map(), live: new Map(), leafId: null, earlier: null };
    }
    if (question) this.open.messages.set(question.id, question);
    this.open.live.set(live.event_id, live);
    this.open.leafId = live.parent_id;
  }

  /** Write a finished answer, once. */
  commit(event: MessageEvent): void {
    const open = this.open;
    const live = open?.live.get(event.id);
    if (!open || !live) return;
    this.writes += 1;
    const { parent_id } = live;
    const isShown = this.liveBelow === live;
    open.live.delete(event.id);
    open.messages.set(event.id, { id: event.id, parent_id, role: "assistant", created_at: event.created_at, event });
    if (isShown) open.leafId = event.id;
  }

  /** The visible messages. */
  get branch(): ShownMessage[] {
    return this.open ? branch(this.open.messages, this.open.leafId) : [];
  }

  /** The newest answer that is streaming below the visible messages. */
  get liveBelow(): LiveEvent | undefined {
    const leaf = this.branch.at(-1)?.id;
    return [...(this.open?.live.values() ?? [])].findLast((one) => one.parent_id === leaf);
  }
}
