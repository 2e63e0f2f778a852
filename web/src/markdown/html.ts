/** Converts Markdown to untrusted HTML; sanitize.ts makes it safe. */

import { getDefaults, Lexer, type MarkedOptions, Parser, Renderer, type Token, Tokenizer, type Tokens } from "marked";
import { isCarriedPicture, safeAddress } from "./address.js";
import { escape, escapeText } from "./escape.js";
import { extensions } from "./extensions.js";
import { simpleParagraph } from "./paragraph.js";
import { t } from "../languages/language.js";

/** Deeper nested quotations would break parsers. */
const TOO_DEEP = /^(?:[ \t]*(?:>|[*+-][ \t]|\d{1,9}[.)][ \t])){24}/m;

/** Tags that are kept in a line of text, without attributes. */
const INLINE_TAG = /^<\/?(?:sub|sup|kbd|mark)>/i;

let isInLink = false;

class SafeTokenizer extends Tokenizer {
  /** HTML is treated as text, so Markdown between tags still works. */
  override html(): undefined {
    return undefined;
  }

  /** A line break, the only one that a table can have, and a few tags that Markdown has no signs for. */
  override tag(source: string): Tokens.Tag | undefined {
    const raw = /^<br ?\/?>/i.exec(source)?.[0];
    if (raw !== undefined) return { type: "br", raw } as unknown as Tokens.Tag;
    const tag = INLINE_TAG.exec(source)?.[0];
    return tag === undefined ? undefined : ({ type: "html", raw: tag, text: tag.toLowerCase() } as unknown as Tokens.Tag);
  }
}

class SafeRenderer extends Renderer {
  override code({ text, lang }: Tokens.Code): string {
    const language = /^[\w+#.-]{1,32}(?=\s|$)/.exec(lang ?? "")?.[0]?.toLowerCase();
    const name = language ? ` data-language="${language}"` : "";
    const kind = language ? ` class="language-${language}"` : "";
    const code = escapeText(text.replace(/\n$/, ""));
    // The toolbar is reserved from the start; its button appears when the block has settled.
    const bar = `<figcaption>${language ?? ""}</figcaption>`;
    return `<figure class="code"${name}>${bar}<pre tabindex="0"><code${kind}>${code}\n</code></pre></figure>\n`;
  }

  override checkbox({ checked }: Tokens.Checkbox): string {
    const [state, label] = checked ? ["true", t.done] : ["false", t.toDo];
    return `<span class="task" data-checked="${state}" role="img" aria-label="${label}"></span> `;
  }

  override listitem(item: Tokens.ListItem): string {
    const html = super.listitem(item);
    return item.task ? html.replace("<li>", '<li class="task-item">') : html;
  }

  /** It may be wider than the page, and scrollable areas must be reachable by keyboard. */
  override table(token: Tokens.Table): string {
    return `<div class="table" tabindex="0">${super.table(token)}</div>\n`;
  }

  override link({ href, tokens }: Tokens.Link): string {
    const wasInLink = isInLink;
    isInLink = true;
    const text = this.parser.parseInline(tokens);
    isInLink = wasInLink;
    return safeAddress(href) && !isInLink ? `<a href="${escape(href)}">${text}</a>` : text;
  }

  override image({ href, text }: Tokens.Image): string {
    const words = escape(text);
    if (isCarriedPicture(href)) return `<img src="${escape(href)}" alt="${words}">`;
    if (isInLink || !safeAddress(href)) return `<span class="image">${words}</span>`;
    return `<a class="image" href="${escape(href)}">${words}</a>`;
  }
}

/** The lexer and the parser are used directly: the `Marked` class around them would be loaded for nothing. */
const options: MarkedOptions = {
  ...getDefaults(),
  tokenizer: new SafeTokenizer(),
  renderer: new SafeRenderer(),
  extensions,
};

export function toHtml(source: string): string {
  return simpleParagraph(source) ?? renderWithParser(source);
}

/** Render Markdown with the parser alone, without the short way for simple paragraphs. */
export function renderWithParser(source: string): string {
  if (TOO_DEEP.test(source)) return plain(source);
  isInLink = false;
  try {
    return Parser.parse(Lexer.lex(source, options), options);
  } catch {
    // Marked fails on some quotations in lists; the text is still worth showing.
    return plain(source);
  }
}

function plain(source: string): string {
  return `<p>${escapeText(source.trim()).replaceAll("\n", "<br>")}</p>\n`;
}

/** Return the link definitions in a source: their labels as marked compares them, and their text. */
export function definitionsIn(source: string): Map<string, string> {
  const found = new Map<string, string>();
  if (!/^[ \t>*+\-\d.)]*\[[^\]]+\]:/m.test(source)) return found;
  for (const { tag, raw } of definitions(tokens(source))) {
    if (!found.has(tag)) found.set(tag, raw.trim());
  }
  return found;
}

function definitions(found: readonly Token[]): Tokens.Def[] {
  return found.flatMap((token) => {
    if (token.type === "def") return token as Tokens.Def;
    const { items, tokens } = token as Partial<Tokens.List & Tokens.Generic>;
    return definitions(items ?? tokens ?? []);
  });
}

function tokens(source: string): Token[] {
  if (TOO_DEEP.test(source)) return [];
  try {
    return Lexer.lex(source, options);
  } catch {
    return [];
  }
}
