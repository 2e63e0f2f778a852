/** Markdown as it comes: blocks that are settled and stay as they are, and a tail that is open. */

import { closeOpen } from "./closing.js";
import { definitionsIn, toHtml } from "./html.js";
import { sanitize } from "./sanitize.js";
import { Splitter, type Piece } from "./splitter.js";

export interface Block {
  readonly key: number;
  readonly source: string;
  /** Sanitised, so it may be put into the page as it is. Rendered when it is first asked for. */
  readonly html: string;
}

type Render = (source: string) => string;

const renderSafely: Render = (source) => sanitize(toHtml(source));

/** Feed it the text in any slicing, then close it: the blocks are the same as those of the whole
 * text. Feeding is linear in the text; what `tail` costs is bounded, so ask once per frame. */
export class MarkdownStream {
  readonly #render: Render;
  readonly #splitter = new Splitter();
  readonly #definitions = new Map<string, string>();
  #settled: PieceBlock[] = [];
  #tail: string | null = "";

  constructor(render: Render = renderSafely) {
    this.#render = render;
  }

  feed(text: string): void {
    if (text === "") return;
    this.#settle(this.#splitter.feed(text));
    this.#tail = null;
  }

  /** No more text comes. Definitions act backwards: the blocks that use one are made anew. */
  close(): void {
    this.#settle(this.#splitter.close());
    this.#tail = "";
    if (this.#definitions.size === 0) return;
    this.#settled = this.#settled.map((block) => block.defined(this.#definitions));
    this.#definitions.clear();
  }

  /** A block that is in stays the same object, until close() finds that a definition changes it. */
  get settled(): readonly Block[] {
    return this.#settled;
  }

  /** The HTML of what is still open, as if it ended well here. */
  get tail(): string {
    this.#tail ??= this.#renderTail();
    return this.#tail;
  }

  #settle(pieces: readonly Piece[]): void {
    for (const { source, text, isCode } of pieces) {
      this.#settled.push(new PieceBlock(this.#settled.length, source, text, this.#render));
      if (!isCode) this.#define(source);
    }
  }

  #define(source: string): void {
    for (const [label, definition] of definitionsIn(source)) {
      // As everywhere in markdown, the first one counts.
      if (!this.#definitions.has(label)) this.#definitions.set(label, definition);
    }
  }

  #renderTail(): string {
    const { source, text, isCode } = this.#splitter.open;
    return source.trim() === "" ? "" : this.#render(closeOpen(text, isCode));
  }
}

/** The blocks of a text that is all there. */
export function renderBlocks(text: string): Block[] {
  const stream = new MarkdownStream();
  stream.feed(text);
  stream.close();
  return [...stream.settled];
}

class PieceBlock implements Block {
  #html: string | undefined;

  constructor(
    readonly key: number,
    readonly source: string,
    readonly text: string,
    readonly render: Render,
  ) {}

  get html(): string {
    this.#html ??= this.render(this.text);
    return this.#html;
  }

  /** This block with the definitions that it may use, or itself if it uses none. */
  defined(definitions: ReadonlyMap<string, string>): PieceBlock {
    const used = usedLabels(this.text).flatMap((label) => definitions.get(label) ?? []);
    if (used.length === 0) return this;
    const text = `${[...new Set(used)].join("\n")}\n\n${this.text}`;
    return new PieceBlock(this.key, this.source, text, this.render);
  }
}

/** Everything in square brackets, as marked compares labels. */
function usedLabels(text: string): string[] {
  const found = text.matchAll(/\[((?:\\.|[^[\]\\])+)\]/g);
  return [...found].map(([, label = ""]) => normalLabel(label));
}

/** Twice through the cases, so that ß and SS are the same label. */
function normalLabel(label: string): string {
  return label.trim().replace(/\s+/g, " ").toLowerCase().toUpperCase().toLowerCase();
}
