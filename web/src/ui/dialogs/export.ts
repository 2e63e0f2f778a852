/** The formats in which a conversation can be saved. */

import { html, type TemplateResult } from "lit";
import type { Chat } from "../../core/chat.js";
import { t } from "../../languages/language.js";
import { download } from "../download.js";

export function exportDialog(chat: Chat, close: () => void): TemplateResult {
  const save = (format: string): void => {
    const conversation = chat.store.open?.conversation;
    close();
    if (conversation) void chat.guard(() => download(chat.api, conversation.id, conversation.title, format));
  };
  return html`<p class="hint">${t.exportHint}</p>
    <ul class="choices-list">${Object.entries(t.exports).map(([format, [title, what]]) => html`<li><button type="button" @click=${() => save(format)}><strong>${title}</strong><span>${what}</span></button></li>`)}</ul>`;
}
