/** Dialogs: modal, closed by Escape, by their button or by a click beside them. The focus returns to where it was.
 *
 * All dialogs and their style sheet are loaded when the first one is opened. */

import { html, render } from "lit";
import type { Chat } from "../../core/chat.js";
import { t } from "../../languages/language.js";
import { icon } from "../icon.js";
import sheet from "../styles/dialog.css";
import { exportDialog } from "./export.js";
import "./settings.js";
import { shortcutsDialog } from "./shortcuts.js";
import "./timeline.js";

interface Page {
  readonly title: () => string;
  readonly content: (chat: Chat, runId: string, close: () => void) => unknown;
}

const PAGES: Readonly<Record<string, Page>> = {
  settings: { title: () => t.settings, content: (chat, _, close) => html`<headrace-settings .chat=${chat} .close=${close}></headrace-settings>` },
  shortcuts: { title: () => t.shortcuts, content: () => shortcutsDialog() },
  export: { title: () => t.export, content: (chat, _, close) => exportDialog(chat, close) },
  timeline: { title: () => t.timeline, content: (chat, runId) => html`<headrace-timeline .api=${chat.api} .runId=${runId}></headrace-timeline>` },
};

/** Open a dialog by its name. */
export async function openDialog(root: ShadowRoot, chat: Chat, name: string, runId = ""): Promise<void> {
  const page = PAGES[name];
  if (!page) return;
  addSheet(root);
  root.querySelector("dialog")?.remove();
  const dialog = document.createElement("dialog");
  dialog.className = `dialog ${name}`;
  const close = (): void => dialog.close();
  const draw = (): void => {
    render(
      html`<div class="dialog-head"><h2 id="headrace-dialog-title">${page.title()}</h2><button class="quiet" type="button" aria-label=${t.close} title=${t.close} @click=${close}>${icon("close")}</button></div>
        <div class="dialog-body">${page.content(chat, runId, close)}</div>`,
      dialog,
    );
  };
  draw();
  dialog.setAttribute("aria-labelledby", "headrace-dialog-title");
  dialog.addEventListener("headrace-redraw", draw);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  root.append(dialog);
  dialog.showModal();
}

const sheets = new WeakSet<ShadowRoot>();

function addSheet(root: ShadowRoot): void {
  if (sheets.has(root)) return;
  sheets.add(root);
  const styles = new CSSStyleSheet();
  styles.replaceSync(sheet);
  root.adoptedStyleSheets.push(styles);
}
