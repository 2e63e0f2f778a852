/** The result of a tool as what it is: an image, a table, a difference, links, files, or text.
 *
 * A page that embeds the chat may show the results of its own tools by its own components (`toolViews`). */

import { html, nothing, type TemplateResult } from "lit";
import { shownBriefly, shownValue } from "../core/format.js";
import type { ToolView } from "../core/view.js";
import { isCarriedPicture } from "../markdown/address.js";
import { define, Element, fields } from "./element.js";
import { link, webAddress } from "./link.js";
import { t } from "../languages/language.js";

/** What a component of the page is given. */
export interface ShownTool {
  readonly name: string;
  readonly args: unknown;
  readonly result: unknown;
  readonly error: string | undefined;
  readonly state: ToolView["state"];
}

/** Returns an element for a tool, or null to have it shown as usual. */
export type ToolViews = Readonly<Record<string, (tool: ShownTool) => Node | null>>;

const viewsOf = new WeakMap<Node, ToolViews>();

export function setToolViews(chat: Node, views: ToolViews): void {
  viewsOf.set(chat, views);
}

export class ToolResultView extends Element {
  static override properties = fields("tool");
  declare tool: ToolView;
  #made: { result: unknown; state: string; node: Node | null } | undefined;

  override render(): unknown {
    const { result } = this.tool;
    const own = this.#ownView();
    if (own) return html`<div class="field own-view" part="tool-view">${own}</div>`;
    const value = shownResult(result);
    return value === nothing ? nothing : html`<div class="field"><span class="label">${t.result}</span>${value}</div>`;
  }

  /** Made once for each result, so that a component keeps its state. */
  #ownView(): Node | null {
    const { name, args, result, error, state } = this.tool;
    const root = this.getRootNode();
    const view = root instanceof ShadowRoot ? viewsOf.get(root.host)?.[name] : undefined;
    if (!view) return null;
    const made = this.#made;
    if (made && made.result === result && made.state === state) return made.node;
    const node = view({ name, args, result, error, state });
    this.#made = { result, state, node };
    return node;
  }
}

/** Return the template of a result, or `nothing` if there is none. */
export function shownResult(result: unknown): TemplateResult | typeof nothing {
  const text = shownValue(result);
  if (text === "") return nothing;
  const special = typeof result === "string" ? ofText(result) : ofValue(result);
  return special ? html`<div class="tool-result rich">${special}</div>` : html`<pre class="tool-result" tabindex="0">${text}</pre>`;
}

/** Return a result in a few words: how many rows a table has, or how many lines have changed. */
export function briefResult(result: unknown): string {
  if (typeof result === "string" && isDiff(result)) {
    const changed = (sign: "+" | "-"): number => result.split("\n").filter((line) => line.startsWith(sign) && !line.startsWith(sign.repeat(3))).length;
    return t.changedLines(changed("+"), changed("-"));
  }
  const isTable = Array.isArray(result) && result.length > 0 && result.every(isFlat) && !result.some(isMedia);
  return isTable ? t.rows(result.length) : shownBriefly(result);
}

function ofText(text: string): TemplateResult | null {
  const address = /^https?:\/\/\S+$/.test(text.trim()) ? webAddress(text.trim()) : null;
  if (address) return link(address, address.href);
  return isDiff(text) ? diff(text) : null;
}

function ofValue(value: unknown): TemplateResult | null {
  if (isMedia(value)) return media(value);
  if (!Array.isArray(value) || value.length === 0) return null;
  if (value.some(isMedia)) return html`${value.map((one: unknown) => (isMedia(one) ? media(one) : html`<pre tabindex="0">${shownValue(one)}</pre>`))}`;
  return value.every(isFound) ? links(value) : value.every(isFlat) ? table(value) : null;
}

// -- images and files

interface Media {
  readonly type: "image" | "file";
  readonly media_type?: string;
  readonly url: string;
  readonly name?: string;
}

export function isMedia(value: unknown): value is Media {
  const { type, url } = (value ?? {}) as Partial<Media>;
  return (type === "image" || type === "file") && typeof url === "string";
}

function media(value: Media): TemplateResult {
  const name = value.name ?? value.media_type ?? value.type;
  if (isCarriedPicture(value.url)) return html`<img class="media" src=${value.url} alt=${name} />`;
  const address = webAddress(value.url);
  if (address) return html`<p>${link(address, name)}</p>`;
  // It is saved, never opened: an HTML file would run as a page.
  const isCarried = /^data:[\w.+-]+\/[\w.+-]+;base64,/.test(value.url);
  return isCarried ? html`<p><a href=${value.url} download=${name}>${t.saveOne(name)}</a></p>` : html`<p>${name}</p>`;
}

// -- lists of things

type Flat = Readonly<Record<string, unknown>>;

interface Found {
  readonly url: string;
  readonly title?: string;
}

const MAX_ROWS = 100;
const MAX_COLUMNS = 12;

function isFound(value: unknown): value is Found {
  const { url, title } = (value ?? {}) as Partial<Found>;
  return typeof url === "string" && webAddress(url) !== null && (title === undefined || typeof title === "string");
}

function links(found: readonly Found[]): TemplateResult {
  return html`<ul>${found.slice(0, MAX_ROWS).map((one) => html`<li>${link(webAddress(one.url)!, one.title ?? one.url)}</li>`)}</ul>`;
}

function isFlat(value: unknown): value is Flat {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const values = Object.values(value);
  return values.length > 0 && values.length <= MAX_COLUMNS && values.every((one) => typeof one !== "object" || one === null);
}

function table(rows: readonly Flat[]): TemplateResult | null {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length > MAX_COLUMNS) return null;
  const cell = (value: unknown): TemplateResult => html`<td class=${typeof value === "number" ? "number" : nothing} dir="auto">${shownValue(value)}</td>`;
  return html`<div class="table" tabindex="0"><table>
    <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${rows.slice(0, MAX_ROWS).map((row) => html`<tr>${names.map((name) => cell(row[name]))}</tr>`)}</tbody>
  </table></div>${rows.length > MAX_ROWS ? html`<p>${t.moreRows(rows.length - MAX_ROWS)}</p>` : nothing}`;
}

// -- differences

const MAX_DIFF_CHARS = 50_000;

function isDiff(text: string): boolean {
  return text.length <= MAX_DIFF_CHARS && /^@@ -\d/m.test(text) && /^(?:--- |diff --git )/m.test(text);
}

function diff(text: string): TemplateResult {
  const kind = (line: string): string => (line.startsWith("@@") ? "hunk" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "");
  return html`<pre class="diff" tabindex="0">${text.replace(/\n$/, "").split("\n").map((line) => html`<span class=${kind(line)}>${line}\n</span>`)}</pre>`;
}

define("headrace-tool-result", ToolResultView);
