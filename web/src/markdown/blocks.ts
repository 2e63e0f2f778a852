/** Streaming Markdown: settled blocks that never change, and an open tail. */

import { closeOpen } from "./closing.js";
import { definitionsIn, toHtml } from "./html.js";
import { sanitize } from "./sanitize.js";
import { Splitter, type Piece } from "./splitter.js";

export interface Block {
  readonly key: number;
  readonly source: string;
  /** Sanitized HTML. Rendered when it is first read. */
  readonly html: string;
}

type Render = (source: string) => string;

const renderSafely: Render = (source) => sanitize(toHtml(source));

/** Feed the text in any slicing, then close: the blocks equal those of the whole text. Feeding only keeps the text;
 * reading `settled` or `tail` cuts it, in linear time, and rendering `tail` has a bounded cost. So read once per frame. */
export class MarkdownStream {
  readonly #render: Render;
  readonly #splitter = new Splitter();
  readonly #definitions = new Map<string, string>();
  #settled: PieceBlock[] = [];
  /** Text that has not been cut yet. */
  #fed = "";
  #tail: string | null = "";

  constructor(render: Render = renderSafely) {
    this.#render = render;
  }

  feed(text: string): void {
    this.#fed += text;
  }

  /** End the text. Link definitions apply backwards, so blocks that use one are rendered again. */
  close(): void {
    this.#cut();
    this.#settle(this.#splitter.close());
    this.#tail = "";
    if (this.#definitions.size === 0) return;
    this.#settled = this.#settled.map((block) => block.defined(this.#definitions));
    this.#definitions.clear();
  }

  /** Blocks stay the same objects, unless close() finds a definition that changes one. */
  get settled(): readonly Block[] {
    this.#cut();
    return this.#settled;
  }

  /** HTML of the open tail, closed as if it ended here. */
  get tail(): string {
    this.#cut();
    this.#tail ??= this.#renderTail();
    return this.#tail;
  }

  #cut(): void {
    if (this.#fed === "") return;
    this.#settle(this.#splitter.feed(this.#fed));
    this.#fed = "";
    this.#tail = null;
  }

  #settle(pieces: readonly Piece[]): void {
    for (const { source, text, isCode } of pieces) {
      this.#settled.push(new PieceBlock(this.#settled.length, source, text, this.#render));
      if (!isCode) this.#define(source);
    }
  }

  #define(source: string): void {
    for (const [label, definition] of definitionsIn(source)) {
      // In Markdown the first definition counts.
      if (!this.#definitions.has(label)) this.#definitions.set(label, definition);
    }
  }

  #renderTail(): string {
    const { source, text, isCode } = this.#splitter.open;
    return source.trim() === "" ? "" : this.#render(closeOpen(text, isCode));
  }
}

/** Return the blocks of a complete text. */
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

  /** Return this block with the definitions that it uses, or itself if it uses none. */
  defined(definitions: ReadonlyMap<string, string>): PieceBlock {
    const used = usedLabels(this.text).flatMap((label) => definitions.get(label) ?? []);
    if (used.length === 0) return this;
    const text = `${[...new Set(used)].join("\n")}\n\n${this.text}`;
    return new PieceBlock(this.key, this.source, text, this.render);
  }
}

/** Return everything in square brackets, normalized as marked compares labels. */
function usedLabels(text: string): string[] {
  const found = text.matchAll(/\[((?:\\.|[^[\]\\])+)\]/g);
  return [...found].map(([, label = ""]) => normalLabel(label));
}

/** Upper and lower case, so that ß and SS are the same label. */
function normalLabel(label: string): string {
  return label.trim().replace(/\s+/g, " ").toLowerCase().toUpperCase().toLowerCase();
}
