/** The state of a chat and the actions of the user. Components only draw it. */

import { announceCalls, announceEnd } from "./announcement.js";
import { API, newestMessages, Refused, type Account, type ConversationChange, type LiveEvent, type ServedModel } from "./api.js";
import { Asking } from "./asking.js";
import { BlockCache } from "./block-cache.js";
import { StreamingBus } from "./bus.js";
import { ReasoningDraft, TextDraft } from "./draft.js";
import type { InputAnswer } from "./event.js";
import type { EndFrame, Frame } from "./frame.js";
import { Choice } from "./choice.js";
import type { ChatNews } from "./news.js";
import { ConversationList } from "./conversation-list.js";
import { recall } from "./preferences.js";
import { Queue } from "./queue.js";
import { Recovery } from "./recovery.js";
import { StreamingSessionManager } from "./session.js";
import { Store } from "./store.js";
import { Tabs } from "./tabs.js";
import { branch, leafUnder } from "./tree.js";
import { loadPurifier } from "../markdown/sanitize.js";
import type { Deletions, Removed } from "./deletion.js";
import { t } from "../languages/language.js";
import { UserSettingsKeeper } from "./user-settings.js";

/** The name under which deletions are kept that can still be undone. */
const DELETED = "deleted";
export class Chat {
  readonly store = new Store();
  readonly bus = new StreamingBus();
  readonly blocks = new BlockCache();
  readonly sessions: StreamingSessionManager;
  readonly tabs: Tabs;
  models: readonly ServedModel[] = [];
  readonly choice = new Choice();
  /** Who the user is; null for a server without accounts, and before it is known. */
  account: Account | null = null;
  readonly settings = new UserSettingsKeeper(this);
  readonly list = new ConversationList(this);
  readonly asking = new Asking(this);
  /** Conversations that are deleted soon, unless the user undoes it. */
  removed: readonly Removed[] = [];
  /** Instructions for the conversation that is about to begin. */
  instructions = "";
  /** Where to look in the open conversation: what a search has found. */
  found: { readonly messageId: string; readonly words: string } | null = null;
  #deletions: Promise<Deletions> | undefined;
  readonly queue: Queue;
  /** Id of the conversation that is being loaded to be shown. */
  loadingId: string | null = null;
  /** Why nothing can be shown: no access token, no server, or no such conversation. */
  problem: Refused | Error | null = null;
  isOnline = true;
  /** Whether earlier messages are being loaded. */
  isExtending = false;
  #loads = 0;
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
    await this.guard(async () => {
      const [account, models] = await Promise.all([this.api.account(), this.api.models()]);
      this.account = account;
      if (account) this.settings.restore(account.settings);
      this.models = models;
      this.choice.recall(models, account ? this.settings.values : undefined);
      if (recall(DELETED)) void this.#deleting().then((one) => one.resume());
      await this.list.load();
      if (conversationId) await this.#load(conversationId);
    });
    this.loadingId = null;
    this.changed();
  }

  close(): void {
    this.list.close();
    this.#recovery.end();
    this.sessions.close();
    this.tabs.close();
  }

  // -- conversations

  /** Show a conversation, or a new one, and in it a message that was found. */
  async show(conversationId: string | null, messageId?: string): Promise<void> {
    this.problem = null;
    const isElsewhere = conversationId !== (this.store.open?.conversation.id ?? null);
    // A question that is about to begin a conversation is left, too: the conversation has no id yet.
    if (isElsewhere || this.asking.pending?.conversationId === null) this.#leave();
    if (conversationId !== null) {
      this.loadingId = conversationId;
      this.changed();
      await this.guard(async () => {
        await this.#load(conversationId);
        if (messageId) await this.#reveal(messageId);
      });
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
    if (this.isBusy) void this.guard(() => this.list.load());
    this.asking.pending = null;
    this.isOnline = true;
    this.sessions.close();
  }

  /** Load and select what leads to a message, and let the page scroll to it. */
  async #reveal(messageId: string): Promise<void> {
    const { open } = this.store;
    while (open && open === this.store.open && open.earlier && !open.messages.has(messageId)) {
      this.store.extend(await this.api.conversation(open.conversation.id, open.earlier));
    }
    if (!open?.messages.has(messageId)) return;
    const isVisible = branch(open.messages, open.leafId).some((one) => one.id === messageId);
    if (!isVisible) open.leafId = leafUnder(open.messages, messageId);
    this.found = { messageId, words: this.list.words };
  }

  /** Rename or pin a conversation, or change its instructions. */
  async change(id: string, change: ConversationChange): Promise<void> {
    await this.guard(async () => {
      const conversation = await this.api.change(id, change);
      if (this.store.open?.conversation.id === id) this.store.open.conversation = conversation;
      await this.list.load();
      this.tabs.tell(id);
    });
  }

  /** Tell the server that the open conversation was shown. */
  async #markRead(): Promise<void> {
    const { open } = this.store;
    if (!open?.conversation.is_unread || document.visibilityState === "hidden") return;
    // If that fails, it stays unread until it is shown again.
    const read = await this.api.change(open.conversation.id, { is_unread: false }).catch(() => undefined);
    if (!read) return;
    open.conversation = read;
    this.store.conversations = this.store.conversations.map((one) => (one.id === read.id ? read : one));
    this.changed();
  }

  // -- settings

  /** Choose the model and the effort of the next answers. */
  choose(model: string | undefined, effort: string | undefined): void {
    this.choice.set(model, effort);
    this.changed();
    if (!this.choice.fixed) void this.guard(() => this.settings.change({ model: model ?? null, effort: effort ?? null }));
  }

  // -- deletions

  #deleting(): Promise<Deletions> {
    return (this.#deletions ??= import("./deletion.js").then(({ Deletions }) => new Deletions(this)));
  }

  /** Hide a conversation and delete it some seconds later, unless the user undoes it. */
  async delete(id: string): Promise<void> {
    const known = [...this.store.pinned, ...this.store.conversations].find((one) => one.id === id);
    const wasOpen = this.store.open?.conversation.id === id;
    if (wasOpen) await this.show(null);
    (await this.#deleting()).add({ id, title: known?.title ?? "", wasOpen });
  }

  /** Delete a conversation now. */
  async remove(id: string): Promise<void> {
    await this.guard(async () => {
      await this.api.delete(id).catch((error: unknown) => {
        if (!(error instanceof Refused) || error.status !== 404) throw error;
      });
      await this.list.load();
      this.tabs.tell(id);
    });
  }

  /** Undo a deletion, and return to the conversation if it was open and no other one is now. */
  async undelete(id: string): Promise<void> {
    const removed = this.removed.find((one) => one.id === id);
    (await this.#deleting()).undo(id);
    if (removed?.wasOpen && !this.store.open && this.loadingId === null) await this.show(id);
  }

  /** Reload everything from the server. */
  async refresh(): Promise<void> {
    const id = this.store.open?.conversation.id;
    await this.guard(async () => {
      await this.list.load();
      if (id) await this.#load(id);
    });
  }

  /** Load a conversation. The last request wins, whatever order responses arrive in. */
  async #load(id: string): Promise<void> {
    const number = (this.#loads += 1);
    const loaded = Promise.all([newestMessages(this.api, id), loadPurifier()]);
    const [whole] = (await loaded.catch((error: unknown) => {
      if (number === this.#loads) throw this.#gone(id, error);
    })) ?? [];
    if (!whole || number !== this.#loads) return;
    this.store.show(whole, (eventId) => this.sessions.isStreaming(eventId));
    this.asking.forgetTaken();
    this.opened(id);
    for (const live of this.store.open?.live.values() ?? []) this.#watch(live);
    this.changed();
    void this.#markRead();
  }

  /** Load earlier messages, until the visible branch has more. */
  async earlier(): Promise<void> {
    const id = this.store.open?.conversation.id;
    if (!id || this.isExtending) return;
    this.isExtending = true;
    const count = this.store.branch.length;
    this.changed();
    await this.guard(async () => {
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
    return new Refused(404, "gone", t.gone, error.requestId, undefined);
  }

  async #changedElsewhere(conversationId: string): Promise<void> {
    await this.guard(async () => {
      await this.list.load();
      if (this.store.open?.conversation.id === conversationId) await this.#load(conversationId);
    });
  }

  // -- asking

  /** Id of the answer that is streaming below the visible messages. */
  get streamingId(): string | undefined {
    return this.store.liveBelow?.event_id;
  }

  get isBusy(): boolean {
    return this.streamingId !== undefined || this.asking.pending !== null;
  }

  /** Whether the visible answer waits for the user. */
  get isAsked(): boolean {
    return Boolean(this.bus.draft(this.streamingId ?? "")?.asking.size);
  }

  /** Stop the answer. If the question is still being sent, stop it as soon as it begins. */
  async stop(): Promise<void> {
    if (this.asking.pending) this.asking.pending.isStopped = true;
    const id = this.streamingId;
    if (!id) return;
    await this.guard(async () => {
      await this.api.cancel(id);
      this.sessions.hurry(id);
    });
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
    await this.guard(async () => {
      await this.api.change(open.conversation.id, { leaf_id });
      this.tabs.tell(open.conversation.id);
    });
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
    const { open } = this.store;
    if (open) open.conversation = { ...open.conversation, is_unread: true };
    void this.guard(async () => {
      await this.#markRead();
      await this.list.load();
    });
    const id = this.store.open?.conversation.id;
    if (id) this.tabs.tell(id);
    this.queue.next(frame.event);
  }

  #took(eventId: string, frames: readonly Frame[]): void {
    for (const text of announceCalls(frames)) this.announce(text);
    for (const frame of frames) {
      if (frame.type === "input_requested") this.news({ type: "input-requested", eventId, requestId: frame.request_id });
      if (frame.type.startsWith("input_") || frame.type === "user_message_added") this.changed();
    }
  }

  #connection(isUp: boolean): void {
    if (isUp === this.isOnline) return;
    this.isOnline = isUp;
    this.changed();
  }

  /** Do something, and show it if it fails. */
  async guard(work: () => Promise<void>): Promise<void> {
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
