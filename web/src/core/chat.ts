/** The state of a chat and the actions of the user. Components only draw it. */

import type { Attachment, AttachmentFacts } from "./attachment.js";
import { announceCalls, announceEnd } from "./announcement.js";
import { API, newestMessages, Refused, type Account, type Ask, type ConversationChange, type LiveEvent, type Page, type ServedModel, type ShownMessage, type UserSettings } from "./api.js";
import { BlockCache } from "./block-cache.js";
import { StreamingBus } from "./bus.js";
import { ReasoningDraft, TextDraft } from "./draft.js";
import type { InputAnswer } from "./event.js";
import type { EndFrame, Frame } from "./frame.js";
import { Choice } from "./choice.js";
import { randomKey, titleOf, type Failed, type Pending, type Returned } from "./question.js";
import type { ChatNews } from "./news.js";
import { keep, ofThisTab, recall } from "./preferences.js";
import { Queue } from "./queue.js";
import { Recovery } from "./recovery.js";
import { StreamingSessionManager } from "./session.js";
import { Store } from "./store.js";
import { Tabs } from "./tabs.js";
import { branch, leafUnder, ROOT } from "./tree.js";
import { loadPurifier } from "../markdown/sanitize.js";
import type { Deletions, Removed } from "./deletion.js";
import { t } from "../languages/language.js";

/** The name under which deletions are kept that can still be undone. */
const DELETED = "deleted";
/** How often the list is loaded while an answer is written that is not shown. */
const LOOK_AGAIN_MS = 3_000;

/** Settings of the user that are changed; null sets the default. */
type SettingsChange = Readonly<Partial<Record<keyof UserSettings, string | null>>>;
/** Under this name a tab keeps the changes that the server has not confirmed. */
const UNSAVED = "unsaved";

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
  settings: UserSettings = {};
  /** Conversations that are deleted soon, unless the user undoes it. */
  removed: readonly Removed[] = [];
  /** Instructions for the conversation that is about to begin. */
  instructions = "";
  /** Where to look in the open conversation: what a search has found. */
  found: { readonly messageId: string; readonly words: string } | null = null;
  #deletions: Promise<Deletions> | undefined;
  #saving: Promise<UserSettings> = Promise.resolve({});
  #unsaved: SettingsChange = {};
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
  #again: ReturnType<typeof setTimeout> | undefined;
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
    await this.guard(async () => {
      const [account, models] = await Promise.all([this.api.account(), this.api.models()]);
      this.account = account;
      if (account) this.#restore(account.settings);
      this.models = models;
      this.choice.recall(models, account ? this.settings : undefined);
      if (recall(DELETED)) void this.#deleting().then((one) => one.resume());
      await this.list();
      if (conversationId) await this.#load(conversationId);
    });
    this.loadingId = null;
    this.changed();
  }

  close(): void {
    clearTimeout(this.#again);
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
    let states: Page["live"];
    let pinned: NonNullable<Page["pinned"]> = [];
    let hits: NonNullable<Page["hits"]> = {};
    do {
      const { conversations, next, live, pinned: marked, hits: places }: Page = await this.api.conversations(this.search, before);
      found.push(...conversations);
      if (!before) [pinned, hits] = [marked ?? [], places ?? {}];
      states = live;
      before = next;
      if (number !== this.#lists) return; // A later one, perhaps of other words, counts.
    } while (before && found.length < this.#listed);
    this.store.conversations = found;
    this.store.pinned = pinned;
    this.store.hits = hits;
    this.#follow(states ?? {});
    this.isListed = true;
    this.hasMore = before !== null;
    this.changed();
  }

  /** Keep the states of other conversations, and look again while one of them changes by itself. */
  #follow(states: NonNullable<Page["live"]>): void {
    this.store.states = states;
    const openId = this.store.open?.conversation.id;
    clearTimeout(this.#again);
    const isChanging = Object.entries(states).some(([id, state]) => id !== openId && state === "writing");
    if (isChanging) this.#again = setTimeout(() => void this.guard(() => this.list()), LOOK_AGAIN_MS);
  }

  /** Load one more page. */
  async more(): Promise<void> {
    this.#listed = this.store.conversations.length + 1;
    await this.guard(() => this.list());
  }

  async find(words: string): Promise<void> {
    this.search = words;
    await this.guard(() => this.list());
  }

  /** Show a conversation, or a new one, and in it a message that was found. */
  async show(conversationId: string | null, messageId?: string): Promise<void> {
    this.problem = null;
    const isElsewhere = conversationId !== (this.store.open?.conversation.id ?? null);
    // A question that is about to begin a conversation is left, too: the conversation has no id yet.
    if (isElsewhere || this.pending?.conversationId === null) this.#leave();
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
    if (this.isBusy) void this.guard(() => this.list());
    this.pending = null;
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
    this.found = { messageId, words: this.search };
  }

  /** Rename or pin a conversation, or change its instructions. */
  async change(id: string, change: ConversationChange): Promise<void> {
    await this.guard(async () => {
      const conversation = await this.api.change(id, change);
      if (this.store.open?.conversation.id === id) this.store.open.conversation = conversation;
      await this.list();
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
    if (!this.choice.fixed) void this.guard(() => this.set({ model: model ?? null, effort: effort ?? null }));
  }

  /** Change settings of the user; null sets the default. A server without accounts does not keep them. */
  async set(change: SettingsChange): Promise<void> {
    const changed = Object.entries({ ...this.settings, ...change }).filter(([, value]) => value !== null);
    this.settings = Object.fromEntries(changed) as UserSettings;
    this.changed();
    if (!this.account) return;
    this.#unsaved = { ...this.#unsaved, ...change };
    keep(UNSAVED, JSON.stringify(this.#unsaved), ofThisTab());
    // One after the other: the last change counts.
    const save = (): Promise<UserSettings> => this.api.json<UserSettings>("api/account/settings", "PATCH", change);
    const saving = (this.#saving = this.#saving.then(save, save));
    const settings = await saving.catch((error: unknown) => {
      if (error instanceof Refused) this.#forgetUnsaved();
      throw error;
    });
    if (saving !== this.#saving) return;
    this.settings = settings;
    this.#forgetUnsaved();
  }

  #forgetUnsaved(): void {
    this.#unsaved = {};
    keep(UNSAVED, "", ofThisTab());
  }

  /** Take the settings of the server, and save again what a reload has cut off. */
  #restore(settings: UserSettings): void {
    this.settings = settings;
    const unsaved = recall(UNSAVED, ofThisTab());
    if (unsaved) void this.guard(() => this.set(JSON.parse(unsaved) as SettingsChange));
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
      await this.list();
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
      await this.list();
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
    this.#forgetTaken();
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

  /** Forget a failed question if the server has it after all. */
  #forgetTaken(): void {
    const failed = this.failed;
    const messages = [...(this.store.open?.messages.values() ?? [])];
    const isThere = (one: ShownMessage): boolean => one.role === "user" && one.text === failed?.text;
    if (failed && messages.some((one) => isThere(one) && !failed.known.has(one.id))) this.failed = null;
  }

  async #changedElsewhere(conversationId: string): Promise<void> {
    await this.guard(async () => {
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

  /** Whether the visible answer waits for the user. */
  get isAsked(): boolean {
    return Boolean(this.bus.draft(this.streamingId ?? "")?.asking.size);
  }

  async send(text: string, files: readonly Attachment[] = []): Promise<void> {
    const open = this.store.open;
    const parentId = this.store.branch.at(-1)?.id;
    const ask: Ask = open
      ? { message: text, conversation_id: open.conversation.id, ...(parentId && { parent_id: parentId }) }
      : { message: text, ...(this.instructions && { instructions: this.instructions }) };
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
    this.announce(t.sent);
    try {
      const [begun] = await Promise.all([this.api.ask(pending.ask, pending.key), loadPurifier()]);
      const at = Date.now();
      const live: LiveEvent = { event_id: begun.eventId, parent_id: begun.parentId, created_at: at };
      if (this.pending !== pending) {
        // The user has opened something else; the run continues without being watched.
        void begun.response.body?.cancel();
        return await this.guard(() => this.list());
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
    this.announce(t.notSentBecause(error.message));
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
      instructions: pending.ask.instructions ?? null,
    };
    const { text, parentId, attachments = [] } = pending;
    const question =
      text === undefined ? null : { id: live.parent_id, parent_id: parentId, role: "user", created_at: at, text, attachments };
    this.store.begin(conversation, question, live);
    for (const key of [pending.key, ...(pending.conversationId === null ? [""] : [])]) this.queue.move(key, conversationId);
    this.pending = null;
    if (pending.ask.instructions) this.instructions = "";
    if (pending.isRepeated && text !== undefined) this.taken = { draftKey: pending.conversationId ?? "new", text };
    this.news({ type: "answer-started", eventId: live.event_id });
    this.begunId = conversationId;
    this.opened(conversationId);
    this.tabs.tell(conversationId);
    void this.guard(() => this.list());
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
      await this.list();
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
