/** Closes open Markdown: half a bold word is shown in bold, and half a marker not at all.
 *
 * It only affects how the open tail looks; a mistake disappears with the next text. */

import { closeDetails, closesDetails, opensDetails } from "./details.js";

/** A line whose meaning depends on what follows. */
const HALF_LINE = /^[ \t>]*(?:[*+=-]{1,2}|-+|=+|\d{1,9}[.)]|#{1,6}|`{1,2}|~{1,2}|\||\\)[ \t]*$/;
/** The first line of code, whose language may still grow. */
const HALF_FENCE = /^[ \t>]*(?:(?:[*+-]|\d{1,9}[.)])[ \t]+)*(?:`{3,}[^`]*|~{3,}.*)$/;
const HALF_TABLE_RULE = /^ {0,3}\|?[ \t]*(?::?-*:?[ \t]*\|[ \t]*)*:?-*:?[ \t]*$/;
/** The markers before the text of a line. */
const LEAD = /^(?:[ \t]*(?:>|[*+-][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t])(?:\[[ xX]\][ \t])?)*[ \t]*/;

/** The start of a tag that is kept in a line. */
const HALF_TAG = /<\/?(?:s|su|sub|sup|k|kb|kbd|m|ma|mar|mark)?$/i;
/** A fence behind the signs of the lists and quotations that it is in. */
const INNER_FENCE = /^[ \t>]*(?:(?:[*+-]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})/;

export function closeOpen(text: string, isCode: boolean): string {
  if (!isCode && opensDetails(text) && !closesDetails(text)) return closeDetails(closeBlock(text, false));
  return closeBlock(text.replace(HALF_TAG, (half) => (isCode ? half : "")), isCode);
}

/** Whether the text ends inside of code that a list or a quotation holds. */
function endsInCode(text: string): boolean {
  let fence = "";
  for (const line of text.split("\n").slice(0, -1)) {
    const found = INNER_FENCE.exec(line)?.[1] ?? "";
    if (fence === "") fence = found;
    else if (found.startsWith(fence) && line.trim() === found) fence = "";
  }
  return fence !== "";
}

function closeBlock(text: string, isCode: boolean): string {
  const start = text.lastIndexOf("\n") + 1;
  const line = text.slice(start);
  if (!isCode && endsInCode(text)) return /^[ \t>]*[`~]+$/.test(line) ? text.slice(0, start) : text;
  if (isCode) return /^ {0,3}[`~]+$/.test(line) && start > 0 ? text.slice(0, start) : text;
  const table = closeTable(text.slice(0, start), line);
  if (table !== null) return table;
  if (HALF_LINE.test(line) || HALF_FENCE.test(line)) return closeWords(text.slice(0, start).trimEnd());
  return closeWords(text);
}

/** A table is recognized as soon as its first row begins. */
function closeTable(before: string, line: string): string | null {
  const isFirstRow = /^ {0,3}\|[ \t]*\S/.test(line) && isParagraphStart(before);
  if (isFirstRow) return before + tableHead(line);
  const header = /(?:^|\n)( {0,3}\|.+)\n$/.exec(before)?.[1];
  if (header === undefined || !HALF_TABLE_RULE.test(line)) return null;
  const above = before.slice(0, before.lastIndexOf(header));
  return isParagraphStart(above) ? above + tableHead(header) : null;
}

const isParagraphStart = (before: string): boolean => /(?:^|\n)[ \t]*\n$|^$/.test(before);

function tableHead(row: string): string {
  const header = closeWords(row).replace(/[ \t]*\|?[ \t]*$/, " |");
  const columns = header.split(/(?<!\\)\|/).length - 2;
  return `${header}\n|${"---|".repeat(columns)}\n`;
}

/** Return the text of the last paragraph, item or cell: nothing before it can still be open. */
function closeWords(text: string): string {
  const start = wordsStart(text);
  return text.slice(0, start) + new Closer(text.slice(start).trimEnd()).close();
}

function wordsStart(text: string): number {
  const starts = text.matchAll(/\n(?=[ \t]*(?:\n|>|[*+-][ \t]|\d{1,9}[.)][ \t]|#|\|))/g);
  const start = ([...starts].at(-1)?.index ?? -1) + 1;
  const line = text.slice(start);
  if (/^[ \t]*\|/.test(line)) return start + line.lastIndexOf("|") + 1;
  return start + (LEAD.exec(line)?.[0].length ?? 0);
}

const SPECIAL = /[\\`![\]*_~$]/g;

/** Limit of open markers; more of them is something else. */
const MAX_OPEN = 16;

interface Mark {
  readonly at: number;
  readonly text: string;
}

/** Scans text once from the left and tracks what is open. */
class Closer {
  #open: Mark[] = [];
  #at = 0;
  #words: string;

  constructor(words: string) {
    this.#words = words;
  }

  close(): string {
    while (this.#seek()) this.#step();
    if (this.#open.length > MAX_OPEN) return this.#words;
    let end = "";
    for (const { text, at } of this.#open.reverse()) {
      const after = this.#words.slice(at + text.length);
      if (!text.endsWith("[") && after !== "") end += text;
      else this.#words = this.#words.slice(0, at) + after;
    }
    return this.#words + end;
  }

  #seek(): boolean {
    SPECIAL.lastIndex = this.#at;
    this.#at = SPECIAL.exec(this.#words)?.index ?? this.#words.length;
    return this.#at < this.#words.length;
  }

  #step(): void {
    const rest = this.#words.slice(this.#at, this.#at + 2);
    if (rest === "\\(" || rest === "\\[") this.#verbatim(rest, rest === "\\(" ? "\\)" : "\\]");
    else if (rest === "$$") this.#verbatim("$$", "$$");
    else if (rest[0] === "\\") this.#at += 2;
    else if (rest[0] === "`") this.#code();
    else if (rest === "![") this.#push("![");
    else if (rest[0] === "[") this.#push("[");
    else if (rest[0] === "]") this.#bracket();
    else if (rest[0] === "*" || rest[0] === "_" || rest[0] === "~") this.#emphasis();
    else this.#at += 1;
  }

  #push(text: string): void {
    this.#open.push({ at: this.#at, text });
    this.#at += text.length;
  }

  #run(): string {
    const mark = this.#words[this.#at];
    let end = this.#at;
    while (this.#words[end] === mark) end += 1;
    return this.#words.slice(this.#at, end);
  }

  #code(): void {
    const ticks = this.#run();
    this.#verbatim(ticks, ticks);
  }

  /** Skip literal content until it ends. */
  #verbatim(open: string, close: string): void {
    const from = this.#at + open.length;
    const end = this.#words.indexOf(close, from);
    if (end >= 0) this.#at = end + close.length;
    else if (from >= this.#words.length) this.#drop(this.#at);
    else this.#end(close);
  }

  /** Stop here, because the rest belongs to what is open. */
  #end(close: string): void {
    // Half of a closing marker may be present.
    while (close.startsWith(this.#words.at(-1) ?? " ")) this.#words = this.#words.slice(0, -1);
    this.#words += close;
    this.#at = this.#words.length;
  }

  #drop(from: number): void {
    this.#words = this.#words.slice(0, from).trimEnd();
    this.#at = this.#words.length;
  }

  /** Show the text of a link while its address arrives; an image shows nothing. */
  #bracket(): void {
    const index = this.#open.findLastIndex(({ text }) => text === "[" || text === "![");
    const opener = this.#open[index];
    this.#at += 1;
    if (!opener) return;
    this.#open.splice(index);
    const next = this.#words[this.#at];
    if (next !== undefined && next !== "(") return;
    // Without an address it may or may not be a link; with half of one, it is.
    const end = this.#words.indexOf(")", this.#at);
    if (end >= 0) this.#at = end + 1;
    else if (opener.text === "![") this.#drop(opener.at);
    else this.#unlink(opener.at);
  }

  /** Called after the closing bracket. */
  #unlink(at: number): void {
    this.#words = this.#words.slice(0, at) + this.#words.slice(at + 1, this.#at - 1);
    this.#at = this.#words.length;
  }

  #emphasis(): void {
    const run = this.#run();
    const before = this.#words[this.#at - 1] ?? " ";
    const after = this.#words[this.#at + run.length] ?? " ";
    const isInWord = run[0] === "_" && /[\p{L}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(after);
    const top = this.#open.findLastIndex(({ text }) => text[0] === run[0]);
    if (isInWord) this.#at += run.length;
    else if (top >= 0 && /\S/.test(before)) this.#match(run, top);
    else if (/\S/.test(after)) this.#push(run);
    else if (this.#at + run.length >= this.#words.length) this.#drop(this.#at);
    else this.#at += run.length;
  }

  #match(run: string, top: number): void {
    const open = this.#open[top]?.text ?? "";
    const isLast = this.#at + run.length >= this.#words.length;
    if (isLast && run.length < open.length) return this.#drop(this.#at);
    this.#open.splice(top);
    this.#at += run.length;
    if (run.length < open.length) this.#open.push({ at: this.#at, text: open.slice(run.length) });
  }
}
