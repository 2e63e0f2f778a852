/** Renders simple paragraphs: one line of words, with bold words, emphasized words and code that can mean nothing else.
 * Most of what models write is that, and a Markdown parser takes several times as long for it. */

import { escape } from "./escape.js";

/** Letters and digits without pairs of surrogates. Listed, because expressions of Unicode classes are slow to compile. */
const LETTERS = "A-Za-z0-9\\u00c0-\\u024f\\u0370-\\u052f\\u3041-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7a3";
/** Marks that mean nothing in Markdown where they can stand here. */
const MARKS = ",.;()\"'?%/\\u2013\\u2014\\u2018\\u2019\\u201c\\u201d\\u2026\\u3001\\u3002\\uff08\\uff09\\uff0c\\uff1a\\uff1f\\-";
const WORDS = `(?:[${LETTERS}${MARKS} ]|:(?= |$))`;
const MARKED = `[${LETTERS}](?:${WORDS}*[${LETTERS}])?`;
const CODE = `[${LETTERS}${MARKS}:_=+#]`;
/** Bold and emphasized words stand between spaces or marks, so their asterisks are read in one way only. */
const BEFORE = "(?<![^ (])";
const AFTER = "(?![^ .,;:?)])";
const SIMPLE = new RegExp(
  `^(?=[${LETTERS}*\`])(?!\\d|.*(?:://|www\\.))(?:${WORDS}|\`${CODE}(?:[ ]?${CODE})*\`(?!\`)` +
    `|${BEFORE}(?:\\*\\*${MARKED}\\*\\*|\\*${MARKED}\\*)${AFTER})+(?<! )$`,
);
const SPANS = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*/g;
/** Longer paragraphs are rare. */
const MAX_CHARS = 2_000;

/** Return the HTML of a simple paragraph, exactly as the parser would write it, or null for everything else. */
export function simpleParagraph(source: string): string | null {
  let end = source.length;
  while (source[end - 1] === "\n") end -= 1;
  if (end > MAX_CHARS) return null;
  const line = source.slice(0, end);
  return SIMPLE.test(line) ? `<p>${escape(line).replace(SPANS, span)}</p>\n` : null;
}

function span(_all: string, code?: string, strong?: string, emphasis?: string): string {
  if (code !== undefined) return `<code>${code}</code>`;
  return strong !== undefined ? `<strong>${strong}</strong>` : `<em>${emphasis}</em>`;
}
