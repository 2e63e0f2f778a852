/** Questions on their way to the server: sent, begun, failed, and sent again. */

import type { Attachment, AttachmentFacts } from "./attachment.js";
import type { Ask, LiveEvent, ShownMessage } from "./api.js";
import type { Chat } from "./chat.js";
import { randomKey, titleOf, type Failed, type Pending, type Returned } from "./question.js";
import { ROOT } from "./tree.js";
import { loadPurifier } from "../markdown/sanitize.js";
import { t } from "../languages/language.js";

export class Asking {
  pending: Pending | null = null;
  failed: Failed | null = null;
  returned: Returned | null = null;
  /** A text that was sent from the composer's copy of it, which is not needed any more. */
  taken: Returned | null = null;
  /** Id of the conversation that was last started here. */
  begunId: string | null = null;
  readonly #chat: Chat;

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  async send(text: string, files: readonly Attachment[] = []): Promise<void> {
    const chat = this.#chat;
    const open = chat.store.open;
    const parentId = chat.store.branch.at(-1)?.id;
    const ask: Ask = open
      ? { message: text, conversation_id: open.conversation.id, ...(parentId && { parent_id: parentId }) }
      : { message: text, ...(chat.instructions && { instructions: chat.instructions }) };
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
    const id = this.#chat.store.open?.conversation.id;
    if (!id) return;
    const ask = { message: text, conversation_id: id, beside_id: question.id, is_branch: true };
    await this.#ask(text, question.parent_id, ask, undefined, question.attachments);
  }

  /** Send a failed question again under the same key, so that it is never asked twice. */
  async retry(): Promise<void> {
    const failed = this.failed;
    if (failed) await this.#post({ ...failed, isStopped: false, isRepeated: true, startedAt: Date.now() });
  }

  async #ask(
    text: string | undefined,
    parentId: string | null,
    ask: Ask,
    model = this.#chat.choice.model,
    attachments: readonly AttachmentFacts[] = [],
  ): Promise<void> {
    const chat = this.#chat;
    const { effort } = chat.choice;
    const chosen = { ...(model && { model }), ...(effort && { effort }) };
    const wanted = { ...ask, ...chosen };
    // The same key gives the same run, so a repeated question is asked once.
    const isSame = this.failed && JSON.stringify(this.failed.ask) === JSON.stringify(wanted);
    await this.#post({
      text,
      attachments,
      parentId,
      conversationId: chat.store.open?.conversation.id ?? null,
      startedAt: Date.now(),
      ask: wanted,
      key: isSame && this.failed ? this.failed.key : randomKey(),
      isStopped: false,
    });
  }

  async #post(pending: Pending): Promise<void> {
    const chat = this.#chat;
    this.pending = pending;
    this.failed = null;
    const leafId = chat.store.open?.leafId;
    if (chat.store.open) chat.store.open.leafId = pending.parentId ?? ROOT;
    chat.changed();
    chat.announce(t.sent);
    try {
      const [begun] = await Promise.all([chat.api.ask(pending.ask, pending.key), loadPurifier()]);
      const at = Date.now();
      const live: LiveEvent = { event_id: begun.eventId, parent_id: begun.parentId, created_at: at };
      if (this.pending !== pending) {
        // The user has opened something else; the run continues without being watched.
        void begun.response.body?.cancel();
        return await chat.guard(() => chat.list.load());
      }
      this.#begin(pending, begun.conversationId, live);
      chat.sessions.watch(begun.eventId, at, begun.response);
      if (pending.isStopped) await chat.stop();
    } catch (error) {
      if (chat.store.open && this.pending === pending) chat.store.open.leafId = leafId ?? null;
      this.#fail(pending, error as Error);
    }
    chat.changed();
  }

  /** Put a failed question back into the composer, so that nothing is lost. */
  #fail(pending: Pending, error: Error): void {
    const chat = this.#chat;
    const known = new Set(chat.store.open?.messages.keys());
    if (this.pending === pending) this.pending = null;
    this.failed = { ...pending, error, known };
    chat.queue.move(pending.key, pending.conversationId ?? "");
    if (pending.text !== undefined) this.returned = { draftKey: pending.conversationId ?? "new", text: pending.text };
    chat.announce(t.notSentBecause(error.message));
    // The conversation itself shows what was accepted.
    if (chat.store.open?.conversation.id === pending.conversationId) void chat.refresh();
  }

  #begin(pending: Pending, conversationId: string, live: LiveEvent): void {
    const chat = this.#chat;
    const at = live.created_at;
    const conversation = chat.store.open?.conversation ?? {
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
    chat.store.begin(conversation, question, live);
    for (const key of [pending.key, ...(pending.conversationId === null ? [""] : [])]) chat.queue.move(key, conversationId);
    this.pending = null;
    if (pending.ask.instructions) chat.instructions = "";
    if (pending.isRepeated && text !== undefined) this.taken = { draftKey: pending.conversationId ?? "new", text };
    chat.news({ type: "answer-started", eventId: live.event_id });
    this.begunId = conversationId;
    chat.opened(conversationId);
    chat.tabs.tell(conversationId);
    void chat.guard(() => chat.list.load());
  }

  /** Forget a failed question if the server has it after all. */
  forgetTaken(): void {
    const failed = this.failed;
    const messages = [...(this.#chat.store.open?.messages.values() ?? [])];
    const isThere = (one: ShownMessage): boolean => one.role === "user" && one.text === failed?.text;
    if (failed && messages.some((one) => isThere(one) && !failed.known.has(one.id))) this.failed = null;
  }
}
