/** The sources of an answer: marks in the text, and a panel with each address once. */

import { html, nothing, type TemplateResult } from "lit";
import type { Citation } from "../core/event.js";
import { link, webAddress } from "./link.js";
import type { Mark } from "./markdown-view.js";
import { t } from "../languages/language.js";

interface Source {
  readonly number: number;
  readonly url: URL;
  readonly title: string;
  readonly quote: string;
}

function numbered(citations: readonly Citation[]): Map<string, Source> {
  const found = new Map<string, Source>();
  for (const { ref = "", title = "", quote = "" } of citations) {
    const url = webAddress(ref);
    if (url && !found.has(url.href)) found.set(url.href, { number: found.size + 1, url, title, quote });
  }
  return found;
}

/** Return the marks of the passages that cite a source. */
export function marksOf(citations: readonly Citation[]): Mark[] {
  const sources = numbered(citations);
  return citations.flatMap(({ ref = "", end }) => {
    const source = sources.get(webAddress(ref)?.href ?? "");
    return source && end !== undefined ? [{ end, number: source.number, url: source.url, title: source.title || source.url.host }] : [];
  });
}

/** The panel of sources. */
export function sources(citations: readonly Citation[]): TemplateResult | typeof nothing {
  const found = [...numbered(citations).values()];
  if (found.length === 0) return nothing;
  return html`<ol class="sources" aria-label=${t.sources}>${found.map(({ url, title, quote }) => html`<li>${link(url, title)}${quote ? html`<q class="quote">${quote}</q>` : nothing}</li>`)}</ol>`;
}
