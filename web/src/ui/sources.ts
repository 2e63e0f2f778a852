/** The sources of an answer as links, each address once. */

import { html, nothing, type TemplateResult } from "lit";
import type { Citation } from "../core/event.js";
import { link, webAddress } from "./link.js";

export function sources(citations: readonly Citation[]): TemplateResult | typeof nothing {
  const links = new Map<string, TemplateResult>();
  for (const { ref = "", title = "" } of citations) {
    const url = webAddress(ref);
    if (url && !links.has(url.href)) links.set(url.href, link(url, title));
  }
  if (links.size === 0) return nothing;
  return html`<ol class="sources" aria-label="Sources">${[...links.values()].map((one) => html`<li>${one}</li>`)}</ol>`;
}
