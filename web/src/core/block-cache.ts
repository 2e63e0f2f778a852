/** Blocks that were rendered while they streamed, so that the stored message shows the same ones. */

import { renderBlocks, type Block, type MarkdownStream } from "../markdown/blocks.js";

const MAX_CHARS = 2_000_000;

export class BlockCache {
  #kept = new Map<string, { text: string; blocks: readonly Block[] }>();
  #chars = 0;

  /** Keep what a stream has settled. It is closed by that. */
  keep(key: string, text: string, stream: MarkdownStream): void {
    stream.close();
    this.#put(key, text, stream.settled);
  }

  /** The blocks of this text: the very ones that were kept, if it is what they were made of. */
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
