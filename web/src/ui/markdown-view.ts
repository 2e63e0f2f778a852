/** Markdown on the page. Settled blocks are put in once and never touched again; only the open
 * tail is drawn anew. Colours, math and copy buttons come when a block has settled. */

import type { Prose } from "../core/view.js";
import type { Block } from "../markdown/blocks.js";
import { enhance } from "./enhance.js";
import { define } from "./element.js";

/** How many blocks go together, out of sight, once twice as many stand below them. */
const PAGE_BLOCKS = 40;

export class MarkdownView extends HTMLElement {
  #shown: { block: Block; element: HTMLElement }[] = [];
  #pages: HTMLElement[] = [];
  #tail: HTMLElement | null = null;
  #tailHTML = "";

  set prose({ blocks, tail }: Prose) {
    this.#show(blocks);
    this.#showTail(tail);
  }

  #show(blocks: readonly Block[]): void {
    let same = 0;
    while (same < this.#shown.length && this.#shown[same]?.block === blocks[same]) same += 1;
    if (same < this.#shown.length) same = this.#clear();
    for (const block of blocks.slice(same)) {
      const element = blockElement(block.html);
      this.insertBefore(element, this.#tail);
      this.#shown.push({ block, element });
      enhance(element);
      if (this.#shown.length - this.#pages.length * PAGE_BLOCKS > 2 * PAGE_BLOCKS) this.#turnPage();
    }
  }

  /** Other blocks than before: rare, since only a text that is closed can change any. */
  #clear(): number {
    for (const { element } of this.#shown.splice(0)) element.remove();
    for (const page of this.#pages.splice(0)) page.remove();
    return 0;
  }

  /** Put the oldest blocks together. A browser lays out and watches pages, not blocks, so a long
   * text costs little for what is far above. Only pages that have been laid out once are let go:
   * their height is known then, and nothing moves. */
  #turnPage(): void {
    this.#pages.at(-1)?.classList.add("far");
    const first = this.#pages.length * PAGE_BLOCKS;
    const page = document.createElement("div");
    page.className = "page";
    this.insertBefore(page, this.#shown[first]?.element ?? null);
    page.append(...this.#shown.slice(first, first + PAGE_BLOCKS).map(({ element }) => element));
    this.#pages.push(page);
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
      this.append(this.#tail);
    }
    this.#tail.innerHTML = html;
  }
}

/** The HTML comes from our own sanitiser; nothing else is ever put in this way. */
function blockElement(html: string): HTMLElement {
  const element = document.createElement("div");
  element.className = "block";
  element.innerHTML = html;
  return element;
}

define("headrace-markdown", MarkdownView);
