/** The messages of a conversation and the streaming answer. */

import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { ShownMessage } from "../core/api.js";
import type { Chat } from "../core/chat.js";
import type { Pending } from "../core/question.js";
import type { MessageEvent } from "../core/event.js";
import { branchPicker } from "./branch-picker.js";
import "./assistant-message.js";
import "./user-message.js";
import { t } from "../languages/language.js";

export function thread(chat: Chat): unknown {
  const live = chat.store.liveBelow;
  const items: { key: string; draw: () => unknown }[] = chat.store.branch.map((message) => ({
    key: message.id,
    draw: () => (message.role === "user" ? user(chat, message) : answer(chat, message)),
  }));
  const { pending } = chat.asking;
  if (live && !pending) items.push({ key: live.event_id, draw: () => writing(chat, live.event_id, live.created_at) });
  return html`${chat.store.hasEarlier ? earlier(chat) : nothing}${repeat(items, (one) => one.key, (one) => one.draw())}${pending ? onItsWay(chat, pending) : nothing}`;
}

function earlier(chat: Chat): TemplateResult {
  return html`<button class="plain earlier" type="button" ?disabled=${chat.isExtending} data-earlier>
    ${chat.isExtending ? t.loadingMore : t.loadEarlier}</button>`;
}

function user(chat: Chat, message: ShownMessage): TemplateResult {
  return html`<headrace-user-message .chat=${chat} .message=${message}></headrace-user-message>`;
}

function answer(chat: Chat, message: ShownMessage): TemplateResult {
  const { event, parent_id: questionId } = message;
  return assistant(chat, message.id, event, message.created_at, branchPicker(chat, message), questionId);
}

function writing(chat: Chat, eventId: string, startedAt: number): TemplateResult {
  return assistant(chat, eventId, undefined, startedAt, nothing, null);
}

/** One template for live and stored, so that the element stays when the answer is complete. */
function assistant(
  chat: Chat,
  eventId: string,
  event: MessageEvent | undefined,
  startedAt: number,
  branches: TemplateResult | typeof nothing,
  questionId: string | null,
): TemplateResult {
  return html`<headrace-assistant-message .chat=${chat} .eventId=${eventId} .event=${event} .startedAt=${startedAt}
    .branches=${branches} .questionId=${questionId}
    .isLast=${!chat.isBusy && chat.store.branch.at(-1)?.id === eventId} .isPending=${chat.asking.pending !== null} .models=${chat.choice.models}></headrace-assistant-message>`;
}

function onItsWay(chat: Chat, pending: Pending): TemplateResult {
  const files = (pending.attachments ?? []).map((facts) => html`<headrace-message-file .api=${chat.api} .path=${""} .facts=${facts}></headrace-message-file>`);
  const said = html`<article class="message user" aria-label=${t.you}>${files.length > 0 ? html`<div class="message-files">${files}</div>` : nothing}<div class="said" dir="auto">${pending.text}</div><div class="foot"></div></article>`;
  return html`${pending.text === undefined ? nothing : said}${writing(chat, "", pending.startedAt)}`;
}
