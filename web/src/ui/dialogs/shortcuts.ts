/** The list of keyboard shortcuts. */

import { html, type TemplateResult } from "lit";
import { t } from "../../languages/language.js";

export function shortcutsDialog(): TemplateResult {
  return html`<dl class="shortcut-list">${t.shortcutList.map(([keys, what]) => html`<dt>${keys.split(/(?<=\w)\+(?=.)/).map((key, place) => html`${place > 0 ? "+" : ""}<kbd>${key}</kbd>`)}</dt><dd>${what}</dd>`)}</dl>
    <p class="hint">${t.macKeys}</p>`;
}
