/** Finds math in Markdown: $…$, $$…$$, \(…\) and \[…\]. math.ts typesets it when it becomes visible. */

import type { MarkedOptions, Tokens } from "marked";
import { escape } from "./escape.js";

const DISPLAY_BLOCK =
  /^ {0,3}(?:\$\$((?:(?!\n[ \t]*\n|\$\$)[^])+)\$\$|\\\[((?:(?!\n[ \t]*\n|\\\])[^])+)\\\])[ \t]*(?:\n|$)/;
const DISPLAY = /^(?:\$\$((?:(?!\$\$)[^])+)\$\$|\\\[((?:(?!\\\])[^])+)\\\])/;
/** Pandoc's rule: no space inside the dollar signs and no digit after them, so that prices stay prices. */
const INLINE = /^(?:\$(?![\s$])((?:\\[^]|[^\\$])+)(?<!\s)\$(?!\d)|\\\(((?:(?!\\\))[^])+)\\\))/;

interface Formula extends Tokens.Generic {
  tex: string;
  isDisplay: boolean;
}

function token(type: string, match: RegExpExecArray | null, isDisplay: boolean): Formula | undefined {
  const tex = (match?.[1] ?? match?.[2] ?? "").trim();
  if (!match || tex === "") return undefined;
  return { type, raw: match[0], tex, isDisplay };
}

function place({ tex, isDisplay }: Formula): string {
  return `<span class="math" data-display="${isDisplay}">${escape(tex)}</span>`;
}

/** Extensions of marked's lexer and parser, in the form in which they take them. */
export const formulas: NonNullable<MarkedOptions["extensions"]> = {
  childTokens: {},
  startBlock: [(source) => interruption(source)],
  startInline: [(source) => source.search(/\$|\\[([]/)],
  block: [(source) => token("formulaBlock", DISPLAY_BLOCK.exec(source), true)],
  inline: [
    (source) => token("formula", DISPLAY.exec(source), true) ?? token("formula", INLINE.exec(source), false),
  ],
  renderers: {
    formulaBlock: (found) => `<p>${place(found as Formula)}</p>\n`,
    formula: (found) => place(found as Formula),
  },
};

/** Where display math interrupts a paragraph. It only affects this paragraph; otherwise marked would treat
 * earlier ones differently. */
function interruption(source: string): number {
  const end = source.search(/\n[ \t]*(?:\n|[<#>]|```|~~~)/);
  return (end < 0 ? source : source.slice(0, end)).search(/(?<=\n) {0,3}(?:\$\$|\\\[)/);
}
