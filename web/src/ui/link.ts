/** A link that a model gave outside of its text. It shows its target like those in the text. */

import { html, nothing, type TemplateResult } from "lit";
import { hostToShow, safeAddress } from "../markdown/address.js";
import { withoutUnseen } from "../markdown/invisible.js";

/** Return the address, or null if it is not a web address. */
export function webAddress(href: string): URL | null {
  const url = safeAddress(href);
  return url?.host ? url : null;
}

export function link(url: URL, text: string): TemplateResult {
  const shown = withoutUnseen(text).trim() || url.href;
  const host = hostToShow(shown, url);
  return html`<a href=${url.href} title=${url.href} target="_blank" rel="noopener noreferrer nofollow"
    ><bdi>${shown}</bdi>${host ? html` <bdi class="host">${host}</bdi>` : nothing}</a>`;
}
