/** Keeps blocks that were rendered while streaming, so that the stored message shows the same elements. */

import { renderBlocks, type Block, type MarkdownStream } from "../markdown/blocks.js";

const MAX_CHARS = 2_000_000;

export class BlockCache {
  #kept = new Map<string, { text: string; blocks: readonly Block[] }>();
  #chars = 0;

  /** Keep the blocks of a stream and close it. */
  keep(key: string, text: string, stream: MarkdownStream): void {
    stream.close();
    this.#put(key, text, stream.settled);
  }

  /** Return the kept blocks if they were made from exactly this text. */
  blocks(key: string, text: string): readonly Block[] {
    const kept = this.#kept.get(key);
    if (kept?.text === text) return kept.blocks;
    const blocks = renderBlocks(text);
    this.#put(key, text, blocks);
    return blocks;
  }

  #put(key: string, text: string, blocks: readonly Block[]): void {
    this.#chars += text.length - (this.#kept.get(key)?.text.length ?? 0);
    this.#kept.delete(key);
    this.#kept.set(key, { text, blocks });
    for (const [oldest, { text: old }] of this.#kept) {
      if (this.#chars <= MAX_CHARS || oldest === key) return;
      this.#kept.delete(oldest);
      this.#chars -= old.length;
    }
  }
}
