/** Media that a model produced. Embedded images are shown; remote ones are links, because loading them would tell
 * the host who reads. */

import { html, type TemplateResult } from "lit";
import type { MediaView } from "../core/view.js";
import { withoutUnseen } from "../markdown/invisible.js";
import { link, webAddress } from "./link.js";
import { t } from "../languages/language.js";

const SHOWN = /^data:image\/(png|jpeg|gif|webp);base64,/;

export function media({ url, mediaType }: MediaView): TemplateResult {
  if (SHOWN.test(url)) return html`<img class="media" src=${url} alt=${t.madeByModel} />`;
  const address = webAddress(url);
  return html`<p class="media-link">
    ${address ? link(address, t.openMedia(mediaType, address.host)) : t.someMedia(withoutUnseen(mediaType))}
  </p>`;
}
