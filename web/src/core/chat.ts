/** The state of a chat and the actions of the user. Components only draw it. */

import type { Attachment, AttachmentFacts } from "./attachment.js";
import { announceCalls, announceEnd } from "./announcement.js";
import { API, newestMessages, Refused, type Ask, type LiveEvent, type Page, type ServedModel, type ShownMessage } from "./api.js";
import { BlockCache } from "./block-cache.js";
import { StreamingBus } from "./bus.js";
import { ReasoningDraft, TextDraft } from "./draft.js";
import type { InputAnswer } from "./event.js";
import type { EndFrame, Frame } from "./frame.js";
import { Choice } from "./choice.js";
import { randomKey, titleOf, type Failed, type Pending, type Returned } from "./question.js";
import type { ChatNews } from "./news.js";
import { Queue } from "./queue.js";
import { Recovery } from "./recovery.js";
import { StreamingSessionManager } from "./session.js";
import { Store } from "./store.js";
import { Tabs } from "./tabs.js";
import { leafUnder, ROOT } from "./tree.js";

export class Chat {
  readonly store = new Store();
  readonly bus = new StreamingBus();
  readonly blocks = new BlockCache();
  readonly sessions: StreamingSessionManager;
  readonly tabs: Tabs;
  models: readonly ServedModel[] = [];
  readonly choice = new Choice();
  search = "";
  /** Whether there are older conversations than those in the list. */
  hasMore = false;
  #listed = 0;
  pending: Pending | null = null;
  failed: Failed | null = null;
  returned: Returned | null = null;
  /** A text that was sent from the composer's copy of it, which is not needed any more. */
  taken: Returned | null = null;
  readonly queue: Queue;
  /** Whether the list of conversations has been loaded. */
  isListed = false;
  /** Id of the conversation that is being loaded to be shown. */
  loadingId: string | null = null;
  /** Id of the conversation that was last started here. */
  begunId: string | null = null;
  /** Why nothing can be shown: no access token, no server, or no such conversation. */
  problem: Refused | Error | null = null;
  isOnline = true;
  /** Whether earlier messages are being loaded. */
  isExtending = false;
  #loads = 0;
  #lists = 0;
  #wanted: string | null = null;
  #recovery = new Recovery(() => void (this.models.length > 0 ? this.refresh() : this.start(this.#wanted)));
  /** Ids of answers that could not be saved, which the store cannot tell. */
  readonly unsaved = new Set<string>();

  constructor(
    readonly api: API,
    readonly changed: () => void,
    readonly announce: (text: string) => void,
    /** Called when another conversation is opened. */
    readonly opened: (id: string | null) => void,
    readonly news: (news: ChatNews) => void = () => undefined,
  ) {
    this.sessions = new StreamingSessionManager(api, this.bus, {
      took: (eventId, frames) => this.#took(eventId, frames),
      ended: (eventId, frame) => this.#ended(eventId, frame),
      lost: () => void this.refresh(),
      connection: (_eventId, isUp) => this.#connection(isUp),
    });
    this.queue = new Queue(this);
    this.tabs = new Tabs((conversationId) => void this.#changedElsewhere(conversationId));
  }

  async start(conversationId: string | null): Promise<void> {
    this.#wanted = conversationId;
    this.loadingId = conversationId;
    await this.#guarded(async () => {
      this.models = await this.api.models();
      this.choice.recall(this.models);
      await this.list();
      if (conversationId) await this.#load(conversationId);
    });
    this.loadingId = null;
    this.changed();
  }

  close(): void {
    this.#recovery.end();
    this.sessions.close();
    this.tabs.close();
  }

  // -- conversations

  /** Reload as many pages of the list as are shown. */
  async list(): Promise<void> {
    const number = (this.#lists += 1);
    const found = [];
    let before: string | null = null;
    do {
      const { conversations, next }: Page = await this.api.conversations(this.search, before);
      found.push(...conversations);
      before = next;
      if (number !== this.#lists) return; // A later one, perhaps of other words, counts.
    } while (before && found.length < this.#listed);
    this.store.conversations = found;
    this.isListed = true;
    this.hasMore = before !== null;
    this.changed();
  }

  /** Load one more page. */
  async more(): Promise<void> {
    this.#listed = this.store.conversations.length + 1;
    await this.#guarded(() => this.list());
  }

  async find(words: string): Promise<void> {
    this.search = words;
    await this.#guarded(() => this.list());
  }

  async show(conversationId: string | null): Promise<void> {
    this.problem = null;
    if (conversationId !== (this.store.open?.conversation.id ?? null)) this.#leave();
    if (conversationId !== null) {
      this.loadingId = conversationId;
      this.changed();
      await this.#guarded(() => this.#load(conversationId));
      if (this.loadingId === conversationId) this.loadingId = null;
      return this.changed();
    }
    this.#loads += 1;
    this.loadingId = null;
    this.store.open = null;
    this.opened(null);
    this.changed();
  }

  /** Stop watching; what is running continues on the server. */
  #leave(): void {
    this.pending = null;
    this.isOnline = true;
    this.sessions.close();
  }

  async rename(id: string, title: string): Promise<void> {
    await this.#guarded(async () => {
      const conversation = await this.api.change(id, { title });
      if (this.store.open?.conversation.id === id) this.store.open.conversation = conversation;
      await this.list();
      this.tabs.tell(id);
    });
  }

  async delete(id: string): Promise<void> {
    await this.#guarded(async () => {
      await this.api.delete(id);
      if (this.store.open?.conversation.id === id) await this.show(null);
      await this.list();
      this.tabs.tell(id);
      this.announce("Conversation deleted");
    });
  }

  /** Reload everything from the server. */
  async refresh(): Promise<void> {
    const id = this.store.open?.conversation.id;
    await this.#guarded(async () => {
      await this.list();
      if (id) await this.#load(id);
    });
  }

  /** Load a conversation. The last request wins, whatever order responses arrive in. */
  async #load(id: string): Promise<void> {
    const number = (this.#loads += 1);
    const whole = await newestMessages(this.api, id).catch((error: unknown) => {
      if (number === this.#loads) throw this.#gone(id, error);
    });
    if (!whole || number !== this.#loads) return;
    this.store.show(whole, (eventId) => this.sessions.isStreaming(eventId));
    this.#forgetTaken();
    this.opened(id);
    for (const live of this.store.open?.live.values() ?? []) this.#watch(live);
    this.changed();
  }

  /** Load earlier messages, until the visible branch has more. */
  async earlier(): Promise<void> {
    const id = this.store.open?.conversation.id;
    if (!id || this.isExtending) return;
    this.isExtending = true;
    const count = this.store.branch.length;
    this.changed();
    await this.#guarded(async () => {
      while (this.store.hasEarlier && this.store.branch.length === count) {
        const before = this.store.open?.earlier;
        if (!before || this.store.open?.conversation.id !== id) return;
        const page = await this.api.conversation(id, before);
        if (this.store.open?.earlier === before) this.store.extend(page);
      }
    });
    this.isExtending = false;
    this.changed();
  }

  /** Close a conversation that was deleted elsewhere. */
  #gone(id: string, error: unknown): unknown {
    if (!(error instanceof Refused) || error.status !== 404) return error;
    if (this.store.open?.conversation.id === id) this.#leave();
    this.store.open = null;
    this.opened(null);
    return new Refused(404, "gone", "This conversation is gone.", error.requestId, undefined);
  }

  /** Forget a failed question if the server has it after all. */
  #forgetTaken(): void {
    const failed = this.failed;
    const messages = [...(this.store.open?.messages.values() ?? [])];
    const isThere = (one: ShownMessage): boolean => one.role === "user" && one.text === failed?.text;
    if (failed && messages.some((one) => isThere(one) && !failed.known.has(one.id))) this.failed = null;
  }

  async #changedElsewhere(conversationId: string): Promise<void> {
    await this.#guarded(async () => {
      await this.list();
      if (this.store.open?.conversation.id === conversationId) await this.#load(conversationId);
    });
  }

  // -- asking

  /** Id of the answer that is streaming below the visible messages. */
  get streamingId(): string | undefined {
    return this.store.liveBelow?.event_id;
  }

  get isBusy(): boolean {
    return this.streamingId !== undefined || this.pending !== null;
  }

  async send(text: string, files: readonly Attachment[] = []): Promise<void> {
    const open = this.store.open;
    const parentId = this.store.branch.at(-1)?.id;
    const ask: Ask = open
      ? { message: text, conversation_id: open.conversation.id, ...(parentId && { parent_id: parentId }) }
      : { message: text };
    if (files.length === 0) return await this.#ask(text, parentId ?? null, ask);
    const facts = files.map(({ name, mediaType, size }) => ({ name, media_type: mediaType, size }));
    await this.#ask(text, parentId ?? null, { ...ask, attachments: files.map((one) => one.fileId) }, undefined, facts);
  }

  /** Regenerate an answer, as a branch beside the old one, by the chosen model or another. */
  async regenerate(questionId: string, model?: string): Promise<void> {
    await this.#ask(undefined, questionId, { parent_id: questionId, is_branch: true }, model);
  }

  /** Edit a question, as a branch beside the old one. */
  async edit(question: ShownMessage, text: string): Promise<void> {
    const id = this.store.open?.conversation.id;
    if (!id) return;
    const ask = { message: text, conversation_id: id, beside_id: question.id, is_branch: true };
    await this.#ask(text, question.parent_id, ask, undefined, question.attachments);
  }

  /** Send a failed question again under the same key, so that it is never asked twice. */
  async retry(): Promise<void> {
    const failed = this.failed;
    if (failed) await this.#post({ ...failed, isStopped: false, isRepeated: true, startedAt: Date.now() });
  }

  /** Stop the answer. If the question is still being sent, stop it as soon as it begins. */
  async stop(): Promise<void> {
    if (this.pending) this.pending.isStopped = true;
    const id = this.streamingId;
    if (!id) return;
    try {
      await this.api.cancel(id);
      this.sessions.hurry(id);
    } catch {
      this.announce("The answer could not be stopped: the server cannot be reached.");
    }
  }

  /** Answer a request for input of a streaming answer. Its stream brings the answer that counts. */
  async answer(eventId: string, requestId: string, answer: InputAnswer): Promise<void> {
    const runId = this.bus.draft(eventId)?.runId;
    if (runId === undefined) return;
    await this.api.answer(runId, requestId, answer);
    this.sessions.hurry(eventId);
  }

  async turnTo(messageId: string): Promise<void> {
    const open = this.store.open;
    if (!open) return;
    open.leafId = leafUnder(open.messages, messageId);
    this.changed();
    const leaf_id = open.leafId;
    await this.#guarded(async () => {
      await this.api.change(open.conversation.id, { leaf_id });
      this.tabs.tell(open.conversation.id);
    });
  }

  async #ask(
    text: string | undefined,
    parentId: string | null,
    ask: Ask,
    model = this.choice.model,
    attachments: readonly AttachmentFacts[] = [],
  ): Promise<void> {
    const { effort } = this.choice;
    const chosen = { ...(model && { model }), ...(effort && { effort }) };
    const wanted = { ...ask, ...chosen };
    // The same key gives the same run, so a repeated question is asked once.
    const isSame = this.failed && JSON.stringify(this.failed.ask) === JSON.stringify(wanted);
    await this.#post({
      text,
      attachments,
      parentId,
      conversationId: this.store.open?.conversation.id ?? null,
      startedAt: Date.now(),
      ask: wanted,
      key: isSame && this.failed ? this.failed.key : randomKey(),
      isStopped: false,
    });
  }

  async #post(pending: Pending): Promise<void> {
    this.pending = pending;
    this.failed = null;
    const leafId = this.store.open?.leafId;
    if (this.store.open) this.store.open.leafId = pending.parentId ?? ROOT;
    this.changed();
    this.announce("Message sent. Thinking.");
    try {
      const begun = await this.api.ask(pending.ask, pending.key);
      const at = Date.now();
      const live: LiveEvent = { event_id: begun.eventId, parent_id: begun.parentId, created_at: at };
      if (this.pending !== pending) {
        // The user has opened something else; the run continues without being watched.
        void begun.response.body?.cancel();
        return;
      }
      this.#begin(pending, begun.conversationId, live);
      this.sessions.watch(begun.eventId, at, begun.response);
      if (pending.isStopped) await this.stop();
    } catch (error) {
      if (this.store.open && this.pending === pending) this.store.open.leafId = leafId ?? null;
      this.#fail(pending, error as Error);
    }
    this.changed();
  }

  /** Put a failed question back into the composer, so that nothing is lost. */
  #fail(pending: Pending, error: Error): void {
    const known = new Set(this.store.open?.messages.keys());
    if (this.pending === pending) this.pending = null;
    this.failed = { ...pending, error, known };
    this.queue.move(pending.key, pending.conversationId ?? "");
    if (pending.text !== undefined) this.returned = { draftKey: pending.conversationId ?? "new", text: pending.text };
    this.announce(`Not sent: ${error.message}`);
    // The conversation itself shows what was accepted.
    if (this.store.open?.conversation.id === pending.conversationId) void this.refresh();
  }

  #begin(pending: Pending, conversationId: string, live: LiveEvent): void {
    const at = live.created_at;
    const conversation = this.store.open?.conversation ?? {
      id: conversationId,
      title: titleOf(pending.text ?? ""),
      created_ms: at,
      updated_ms: at,
      leaf_id: null,
    };
    const { text, parentId, attachments = [] } = pending;
    const question =
      text === undefined ? null : { id: live.parent_id, parent_id: parentId, role: "user", created_at: at, text, attachments };
    this.store.begin(conversation, question, live);
    for (const key of [pending.key, ...(pending.conversationId === null ? [""] : [])]) this.queue.move(key, conversationId);
    this.pending = null;
    if (pending.isRepeated && text !== undefined) this.taken = { draftKey: pending.conversationId ?? "new", text };
    this.news({ type: "answer-started", eventId: live.event_id });
    this.begunId = conversationId;
    this.opened(conversationId);
    this.tabs.tell(conversationId);
    void this.#guarded(() => this.list());
  }

  #watch(live: LiveEvent): void {
    this.sessions.watch(live.event_id, live.created_at);
  }

  #ended(eventId: string, frame: EndFrame): void {
    const draft = this.bus.draft(eventId);
    for (const segment of draft?.segments ?? []) {
      if (segment instanceof TextDraft) this.blocks.keep(segment.id, segment.text, segment.markdown);
      if (!(segment instanceof ReasoningDraft)) continue;
      segment.entries.forEach((entry, place) => this.blocks.keep(`${segment.id}/${place}`, entry.text, entry.markdown));
    }
    this.store.commit(frame.event);
    if (frame.type === "message_error" && !frame.event.error) this.unsaved.add(eventId);
    this.announce(announceEnd(frame));
    this.changed();
    this.news({ type: "answer-finished", eventId });
    void this.#guarded(() => this.list());
    const id = this.store.open?.conversation.id;
    if (id) this.tabs.tell(id);
    this.queue.next(frame.event);
  }

  #took(eventId: string, frames: readonly Frame[]): void {
    for (const text of announceCalls(frames)) this.announce(text);
    for (const frame of frames) {
      if (frame.type === "input_requested") this.news({ type: "input-requested", eventId, requestId: frame.request_id });
    }
  }

  #connection(isUp: boolean): void {
    if (isUp === this.isOnline) return;
    this.isOnline = isUp;
    this.changed();
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.problem = null;
      this.#recovery.end();
    } catch (error) {
      this.problem = error as Error;
      this.news({ type: "error", error: this.problem });
      if (!(error instanceof Refused)) this.#recovery.begin();
    }
    this.changed();
  }
}
