/** What a model made: a picture that came along is shown; one that lies elsewhere is a link, since
 * to load it would tell its host who reads. */

import { html, type TemplateResult } from "lit";
import type { MediaView } from "../core/view.js";

const SHOWN = /^data:image\/(png|jpeg|gif|webp);base64,/;

export function media(view: MediaView): TemplateResult {
  if (SHOWN.test(view.url)) return html`<img class="media" src=${view.url} alt="Made by the model" />`;
  if (!/^https?:\/\//.test(view.url)) return html`<p class="media-link">Something of the type ${view.mediaType}.</p>`;
  const host = new URL(view.url).host;
  return html`<p class="media-link">
    <a href=${view.url} target="_blank" rel="noopener noreferrer nofollow">Open ${view.mediaType} from ${host}</a>
  </p>`;
}
