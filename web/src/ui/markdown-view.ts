/** Renders Markdown. Settled blocks are inserted once and never changed; only the open tail is redrawn.
 * Highlighting, math and copy buttons are added when a block has settled. */

import type { Prose } from "../core/view.js";
import type { Block } from "../markdown/blocks.js";
import { enhance, enhanceTail } from "./enhance.js";
import { define } from "./element.js";

/** How many blocks are in a page. Pages are cheaper for the browser to lay out and observe than blocks. */
const PAGE_BLOCKS = 40;
/** How many pages at the end are always laid out. */
const NEAR_PAGES = 3;

interface Shown {
  block: Block;
  readonly element: HTMLElement;
}

export class MarkdownView extends HTMLElement {
  #shown: Shown[] = [];
  #pages: HTMLElement[] = [];
  #tail: HTMLElement | null = null;
  #tailHTML = "";

  set prose({ blocks, tail }: Prose) {
    this.#show(blocks);
    this.#showTail(tail);
  }

  /** Marks of the sources, each at the end of the block that cites it. Set after the text. */
  set marks(marks: readonly Mark[]) {
    for (const old of this.querySelectorAll(".cites")) old.remove();
    let end = 0;
    let place = 0;
    const ends = this.#shown.map(({ block, element }) => ({ end: (end += block.source.length), element }));
    for (const mark of [...marks].sort((a, b) => a.end - b.end || a.number - b.number)) {
      while (place < ends.length - 1 && (ends[place]?.end ?? 0) < mark.end) place += 1;
      const block = ends[place]?.element;
      if (block) addMark(block, mark);
    }
  }

  #show(blocks: readonly Block[]): void {
    if (blocks.length < this.#shown.length) this.#clear();
    for (const [place, shown] of this.#shown.entries()) {
      const block = blocks[place];
      if (block && shown.block !== block) this.#change(shown, block);
    }
    while (this.#shown.length < blocks.length) {
      if (this.#shown.length === this.#pages.length * PAGE_BLOCKS) this.#turnPage();
      this.#add(blocks.slice(this.#shown.length, this.#pages.length * PAGE_BLOCKS));
    }
  }

  /** Add blocks to the last page. */
  #add(blocks: readonly Block[]): void {
    const elements = blockElements(blocks);
    if (this.#tail) this.#tail.before(...elements);
    else this.#lastPage.append(...elements);
    for (const [place, element] of elements.entries()) {
      const block = blocks[place]!;
      this.#shown.push({ block, element });
      // Most blocks are plain text, and are not looked through.
      if (/<figure|class="math"/.test(block.html)) enhance(element);
    }
  }

  /** Redraw a block whose link a later definition has changed; everything stays in place. */
  #change(shown: Shown, block: Block): void {
    shown.block = block;
    shown.element.innerHTML = block.html;
    enhance(shown.element);
  }

  #clear(): void {
    this.#shown = [];
    this.#pages = [];
    this.#tail = null;
    this.#tailHTML = "";
    this.replaceChildren();
  }

  /** Begin a page, and leave it to the browser to skip those that are far from the end. They have been laid out
   * before, so their height is known and nothing moves. */
  #turnPage(): void {
    this.#pages.at(-NEAR_PAGES)?.classList.add("far");
    const page = document.createElement("div");
    page.className = "page";
    this.append(page);
    this.#pages.push(page);
    if (this.#tail) page.append(this.#tail);
  }

  get #lastPage(): HTMLElement {
    return this.#pages.at(-1) ?? this;
  }

  #showTail(html: string): void {
    if (html === this.#tailHTML) return;
    this.#tailHTML = html;
    if (html === "") {
      this.#tail?.remove();
      this.#tail = null;
      return;
    }
    if (!this.#tail) {
      this.#tail = blockElement("");
      this.#lastPage.append(this.#tail);
    }
    this.#tail.innerHTML = html;
    // A complete formula is typeset at once, because it would grow when it settles; code has its colors line by line.
    enhanceTail(this.#tail);
  }
}

/** A source that a text cites up to some character. */
export interface Mark {
  readonly end: number;
  readonly number: number;
  readonly url: URL;
  readonly title: string;
}

function addMark(block: HTMLElement, { number, url, title }: Mark): void {
  const last = block.lastElementChild;
  const target = last?.matches("p, li") ? last : ([...block.querySelectorAll("li, p")].at(-1) ?? block);
  let marks = target.querySelector(":scope > .cites");
  if (!marks) {
    marks = Object.assign(document.createElement("sup"), { className: "cites" });
    target.append(marks);
  }
  if ([...marks.children].some((one) => one.textContent === String(number))) return;
  const link = Object.assign(document.createElement("a"), { href: url.href, textContent: String(number), target: "_blank", title });
  link.rel = "noopener noreferrer nofollow";
  marks.append(link);
}

/** Return the elements of blocks, which are parsed together: that takes half of the time. */
function blockElements(blocks: readonly Block[]): HTMLElement[] {
  const place = document.createElement("div");
  place.innerHTML = blocks.map(({ html }) => `<div class="block" dir="auto">${html}</div>`).join("");
  const elements = [...place.children] as HTMLElement[];
  // No block may reach into the next one.
  return place.childNodes.length === blocks.length && elements.length === blocks.length ? elements : blocks.map(({ html }) => blockElement(html));
}

/** The HTML comes from our sanitizer; nothing else is inserted this way. */
function blockElement(html: string): HTMLElement {
  const element = document.createElement("div");
  element.className = "block";
  element.dir = "auto";
  element.innerHTML = html;
  return element;
}

define("headrace-markdown", MarkdownView);
