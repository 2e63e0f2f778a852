/** What an answer rests on, as links; each address once. */

import { html, nothing, type TemplateResult } from "lit";
import type { Citation } from "../core/event.js";

export function sources(citations: readonly Citation[]): TemplateResult | typeof nothing {
  const links = new Map<string, string>();
  for (const { ref = "", title } of citations) {
    if (/^https?:\/\//.test(ref) && !links.has(ref)) links.set(ref, title || ref);
  }
  if (links.size === 0) return nothing;
  return html`<ol class="sources" aria-label="Sources">
    ${[...links].map(([ref, title]) => html`<li><a href=${ref} title=${ref} target="_blank" rel="noopener noreferrer nofollow">${title}</a></li>`)}
  </ol>`;
}
