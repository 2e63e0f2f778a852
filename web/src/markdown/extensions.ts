/** What is read beside Markdown's own signs: math, footnotes, and details that open. In the form in which marked's lexer
 * and parser take it. */

import type { MarkedOptions, Tokens } from "marked";
import { DETAILS } from "./details.js";
import { escapeText } from "./escape.js";
import { formulas } from "./formula.js";
import { t } from "../languages/language.js";

type Extensions = NonNullable<MarkedOptions["extensions"]>;

const FOOTNOTE_MARK = /^\[\^([^\]\s]{1,40})\](?!:)/;
const FOOTNOTE = /^ {0,3}\[\^([^\]\s]{1,40})\]:[ \t]*([^\n]*)(?:\n|$)/;

const footnoteMark: NonNullable<Extensions["inline"]>[number] = (source) => {
  const match = FOOTNOTE_MARK.exec(source);
  return match ? { type: "footnoteMark", raw: match[0], label: match[1] } : undefined;
};

const footnote: NonNullable<Extensions["block"]>[number] = function (source) {
  const match = FOOTNOTE.exec(source);
  if (!match) return undefined;
  return { type: "footnote", raw: match[0], label: match[1], tokens: this.lexer.inline(match[2] ?? "", []) };
};

const details: NonNullable<Extensions["block"]>[number] = function (source) {
  const match = DETAILS.exec(source);
  if (!match) return undefined;
  const { summary = "", inner = "" } = match.groups ?? {};
  return {
    type: "details",
    raw: match[0],
    head: this.lexer.inline(summary.trim() || t.details, []),
    tokens: this.lexer.blockTokens(`${inner.trim()}\n`, []),
  };
};

export const extensions: Extensions = {
  childTokens: { footnote: ["tokens"], details: ["tokens", "head"] },
  startBlock: formulas.startBlock ?? [],
  startInline: [...(formulas.startInline ?? []), (source) => source.search(/\[\^/)],
  block: [...(formulas.block ?? []), footnote, details],
  inline: [...(formulas.inline ?? []), footnoteMark],
  renderers: {
    ...formulas.renderers,
    footnoteMark: (token) => `<sup class="footnote">${escapeText(String((token as Tokens.Generic)["label"]))}</sup>`,
    footnote(token) {
      const { label, tokens = [] } = token as Tokens.Generic;
      return `<p class="footnotes"><sup>${escapeText(String(label))}</sup> ${this.parser.parseInline(tokens)}</p>\n`;
    },
    details(token) {
      const { head, tokens = [] } = token as Tokens.Generic;
      return `<details><summary>${this.parser.parseInline(head)}</summary>\n${this.parser.parse(tokens)}</details>\n`;
    },
  },
};
