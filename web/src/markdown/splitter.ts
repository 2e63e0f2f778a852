/** Cuts growing Markdown into pieces that can be rendered one by one, in linear time for any slicing.
 *
 * It does not parse Markdown: it cuts where every Markdown parser ends a block, and leaves the syntax inside a
 * piece to the renderer. A block that grows too long is cut as well, so that drawing the open tail has a bounded
 * cost. */

import { closesDetails, opensDetails } from "./details.js";

export interface Piece {
  readonly source: string;
  /** The source that renders alone as it would in its place. */
  readonly text: string;
  readonly isCode: boolean;
}

/** A longer block is cut at the next good place. Most blocks are a tenth of this. */
const SOFT_LIMIT = 4_096;
/** Text without spaces and nested lists have no good place to cut. */
const PATIENT_LIMIT = 8_192;
/** Code is cheap to draw, and unpleasant to read in pieces. */
const CODE_LIMIT = 16_384;
/** A longer block is cut anywhere. */
const HARD_LIMIT = 32_768;
/** The start of a line that decides what it begins. */
const LONG_LINE = 4_096;

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const HEADING = /^#{1,6}(?:[ \t]|$)/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$/;
const ITEM = /^( {0,3}(?:[*+-]|\d{1,9}[.)]))([ \t]+|$)/;
const ITEM_AFTER_TEXT = /^ {0,3}(?:[*+-]|1[.)])[ \t]/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

export class Splitter {
  /** The current line, as far as it has not been processed. */
  #line = "";
  #isInsideLine = false;
  #endedWithReturn = false;

  /** The open block and its state. */
  #piece = "";
  /** What the start of the block said, if it is in an earlier piece. */
  #context = "";
  #firstNumber = NaN;
  #dedent = 0;
  #fence = "";
  /** Whether a line that is indented less than the list's text continued or ended the list. Only a parser could
   * tell whether code after it is in the list, so nothing is cut there. */
  #mayHaveLeftList = false;
  /** A number at the start of a paragraph line does not begin a list, nor do those after it. */
  #beganInText = false;
  #innerFence = "";
  #isInDetails = false;
  /** Whether the line ends the block: a closing fence, or the end of details. */
  #isLastLine = false;
  #wasBlank = false;
  #previous = "";
  #table = "";
  /** Indentation of the text of list items; 0 outside of lists. */
  #itemIndent = 0;
  #itemNumber = 0;
  #hasNoCut = false;

  #done: Piece[] = [];

  /** Return the pieces that this text completes. */
  feed(text: string): Piece[] {
    const lines = this.#normalise(text).split("\n");
    const rest = lines.pop() ?? "";
    for (const line of lines) this.#end(line);
    this.#line += rest;
    if (this.#isInsideLine || this.#line.length >= LONG_LINE) this.#takeRest();
    return this.#drain();
  }

  close(): Piece[] {
    if (this.#endedWithReturn) this.#end("");
    this.#endedWithReturn = false;
    if (this.#line !== "") this.#takeRest();
    this.#settle();
    return this.#drain();
  }

  /** The text that is in no piece yet. */
  get open(): Piece {
    return this.#pieceOf(this.#piece + this.#line);
  }

  #normalise(text: string): string {
    if (this.#endedWithReturn) text = "\r" + text;
    this.#endedWithReturn = text.endsWith("\r");
    if (this.#endedWithReturn) text = text.slice(0, -1);
    return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
  }

  #drain(): Piece[] {
    const done = this.#done;
    this.#done = [];
    return done;
  }

  #end(line: string): void {
    this.#line += line;
    if (!this.#isInsideLine) this.#judge(this.#line.slice(0, LONG_LINE));
    this.#append(this.#line + "\n");
    this.#line = "";
    this.#isInsideLine = false;
    if (this.#isLastLine) this.#settle();
  }

  /** Process the start of a line that will not end soon. */
  #takeRest(): void {
    if (!this.#isInsideLine) this.#judge(this.#line.slice(0, LONG_LINE));
    this.#append(this.#line);
    this.#line = "";
    this.#isInsideLine = true;
  }

  /** Decide what a new line does to the open block, before it is appended. */
  #judge(line: string): void {
    if (this.#fence !== "") {
      this.#isLastLine = closesFence(line, this.#fence);
      return;
    }
    if (this.#innerFence !== "") {
      if (closesFence(line.trimStart(), this.#innerFence)) this.#innerFence = "";
      return;
    }
    if (this.#isInDetails) {
      this.#isLastLine = closesDetails(line);
      return;
    }
    if (line.trim() === "") {
      this.#wasBlank = true;
      return;
    }
    const indent = indentOf(line);
    if (opensDetails(line) && (this.#itemIndent === 0 || indent < this.#itemIndent)) {
      this.#settle();
      this.#isInDetails = true;
      this.#isLastLine = closesDetails(line);
      return;
    }
    if (this.#beginsBlock(line, indent)) this.#settle();
    this.#note(line, indent);
    this.#wasBlank = false;
    this.#previous = line;
  }

  #beginsBlock(line: string, indent: number): boolean {
    if (HEADING.test(line)) return true;
    if (this.#itemIndent === 0) return FENCE.test(line) || (this.#wasBlank && indent < 4);
    if (indent >= this.#itemIndent) return false;
    if (FENCE.test(line)) return true;
    return this.#wasBlank && indent === 0 && !isItem(line);
  }

  #note(line: string, indent: number): void {
    if (this.#piece.length >= PATIENT_LIMIT) this.#cutInItem(line, indent);
    const fence = FENCE.exec(line)?.[1];
    this.#mayHaveLeftList = this.#mayLeaveList(line, indent);
    if (fence !== undefined) {
      if (this.#itemIndent === 0 || indent < this.#itemIndent) this.#fence = fence;
      else if (this.#mayHaveLeftList) this.#innerFence = fence;
    } else if (this.#isListItem(line, indent)) this.#noteItem(line);
    else if (TABLE_RULE.test(line) && this.#previous.includes("|") && !this.#wasBlank) {
      this.#table = `${this.#previous}\n${line}\n`;
    }
  }

  #mayLeaveList(line: string, indent: number): boolean {
    const isInText = this.#previous !== "" && !this.#wasBlank && !ITEM_AFTER_TEXT.test(line);
    if (this.#itemIndent === 0) this.#beganInText = isInText;
    else if (indent >= this.#itemIndent) return this.#mayHaveLeftList;
    return !isItem(line) || (this.#beganInText && isInText);
  }

  /** Whether this is an item of the list itself, not of a nested list. A number that happens to start a line may
   * be mistaken for one; that only delays the next cut. */
  #isListItem(line: string, indent: number): boolean {
    return isItem(line) && (this.#itemIndent === 0 || indent < this.#itemIndent);
  }

  #noteItem(line: string): void {
    const [, marker = "", space = ""] = ITEM.exec(line) ?? [];
    const isFirst = this.#itemIndent === 0;
    const number = Number.parseInt(marker, 10);
    this.#itemNumber = isFirst || Number.isNaN(number) ? number : this.#itemNumber + 1;
    if (this.#piece.length >= SOFT_LIMIT && !isFirst) this.#cutList();
    const width = space.length > 4 || space === "" ? 1 : space.length;
    this.#itemIndent = marker.length + width;
  }

  /** Continue the numbers of a list, whatever number the next item has. */
  #cutList(): void {
    const number = this.#itemNumber;
    this.#settle();
    this.#itemNumber = this.#firstNumber = number;
  }

  /** Cut a nested list as well; its rest is then not indented. */
  #cutInItem(line: string, indent: number): void {
    if (this.#itemIndent === 0 || indent < this.#itemIndent || !isItem(line.trimStart())) return;
    this.#emit(this.#piece);
    this.#piece = "";
    this.#dedent = indent;
  }

  #append(text: string): void {
    this.#piece += text;
    if (this.#isLastLine) return;
    for (let at = this.#cut(); at > 0; at = this.#cut()) this.#cutAt(at);
  }

  /** Return where to cut a block that is too long, or 0. Only the start of the block decides, not how much more
   * has arrived; hence the order of the limits. */
  #cut(): number {
    const length = this.#piece.length;
    if (this.#fence !== "") return length > CODE_LIMIT ? lastLine(this.#piece, CODE_LIMIT) : 0;
    if (this.#itemIndent > 0 || this.#isInDetails) return length > HARD_LIMIT ? lastLine(this.#piece, HARD_LIMIT) : 0;
    if (length > SOFT_LIMIT && !this.#hasNoCut) {
      const at = this.#goodCut(SOFT_LIMIT);
      if (at > 0) return at;
      this.#hasNoCut = true;
    }
    if (length <= PATIENT_LIMIT) return 0;
    return this.#goodCut(PATIENT_LIMIT) || wholeCharacter(this.#piece, PATIENT_LIMIT);
  }

  #goodCut(limit: number): number {
    if (!this.#isInLines()) return lastWord(this.#piece.slice(0, limit));
    const at = this.#piece.lastIndexOf("\n", limit - 1) + 1;
    return at > limit / 2 ? at : 0;
  }

  /** Tables and quotations depend on their lines. */
  #isInLines(): boolean {
    return this.#table !== "" || this.#piece.trimStart().startsWith(">");
  }

  #cutAt(at: number): void {
    const rest = this.#piece.slice(at);
    const opener = this.#fence === "" ? "" : this.#context || firstLine(this.#piece);
    this.#emit(this.#piece.slice(0, at));
    this.#piece = rest;
    this.#context = opener || this.#table;
  }

  #settle(): void {
    if (this.#piece.trim() !== "") {
      this.#emit(this.#piece);
      this.#piece = "";
    }
    this.#context = this.#fence = this.#innerFence = this.#previous = this.#table = "";
    this.#isLastLine = this.#isInDetails = this.#wasBlank = this.#mayHaveLeftList = false;
    this.#itemIndent = this.#itemNumber = 0;
  }

  #emit(source: string): void {
    this.#done.push(this.#pieceOf(source));
    this.#context = "";
    this.#firstNumber = NaN;
    this.#dedent = 0;
    this.#hasNoCut = false;
  }

  #pieceOf(source: string): Piece {
    const isCode = this.#fence !== "";
    return { source, text: this.#readAlone(source), isCode };
  }

  #readAlone(source: string): string {
    if (!Number.isNaN(this.#firstNumber)) return source.replace(/\d+/, `${this.#firstNumber}`);
    if (this.#dedent > 0) return source.replace(new RegExp(`^[ \\t]{1,${this.#dedent}}`, "gm"), "");
    return this.#context + source;
  }
}

function isItem(line: string): boolean {
  return ITEM.test(line) && !RULE.test(line);
}

/** The closing fence may be longer than the opening one. */
function closesFence(line: string, fence: string): boolean {
  const text = line.trimEnd();
  const bare = text.trimStart();
  return text.length - bare.length < 4 && bare.startsWith(fence) && /^[`~]+$/.test(bare);
}

function indentOf(line: string): number {
  let width = 0;
  for (const character of line) {
    if (character === " ") width += 1;
    else if (character === "\t") width += 4 - (width % 4);
    else break;
  }
  return width;
}

function firstLine(text: string): string {
  const start = text.length - text.trimStart().length;
  const end = text.indexOf("\n", start);
  return text.slice(text.lastIndexOf("\n", start) + 1, end < 0 ? undefined : end) + "\n";
}

/** Return the end of the last complete line before the limit; within an endless line, the limit. */
function lastLine(text: string, limit: number): number {
  const at = text.lastIndexOf("\n", limit - 1) + 1;
  return at > limit / 2 ? at : wholeCharacter(text, limit);
}

/** Cut after a sentence if possible, else after a word. The next character is a letter, so that it cannot be
 * taken for a list or a heading. */
function lastWord(text: string): number {
  const half = text.length / 2;
  const window = text.slice(half);
  const places = [...window.matchAll(/(?<=[.!?]["')]?\s{1,2})(?=\p{L})|(?<=[。！？])(?=\p{L})/gu)];
  const words = places.length > 0 ? places : [...window.matchAll(/(?<=\s)(?=\p{L})/gu)];
  return half + (words.at(-1)?.index ?? -half);
}

function wholeCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return code >= 0xd800 && code <= 0xdbff ? at - 1 : at;
}
