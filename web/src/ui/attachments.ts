/** The files of a message: in the composer, and in a question. */

import { html, nothing, type TemplateResult } from "lit";
import type { API } from "../core/api.js";
import { fileSize, type Attachment, type AttachmentFacts } from "../core/attachment.js";
import { capitalize } from "../core/format.js";
import { define, Element, fields } from "./element.js";
import { icon } from "./icon.js";
import { t } from "../languages/language.js";

/** The files that go with the next message. */
export function chosenFiles(files: readonly Attachment[], remove: (file: Attachment) => void): TemplateResult | typeof nothing {
  if (files.length === 0) return nothing;
  return html`<ul class="files" aria-label=${t.attachments}>${files.map((file) => html`<li class="file ${file.problem ? "refused" : ""}">
    ${file.preview ? html`<img src=${file.preview} alt="" />` : html`<span class="file-icon">${icon("file")}</span>`}
    <span class="file-name">${file.name}</span>
    <span class="file-state" role=${file.problem ? "alert" : nothing}>${state(file)}</span>
    <button class="quiet" type="button" aria-label=${t.removeOne(file.name)} title=${t.remove} @click=${() => remove(file)}>${icon("close")}</button>
  </li>`)}</ul>`;
}

function state(file: Attachment): unknown {
  if (file.problem) return t.removeToSend(capitalize(file.problem));
  if (file.fileId) return fileSize(file.size);
  return html`<progress max="1" .value=${file.progress} aria-label=${t.uploadOf(file.name)}></progress>`;
}

/** A file of a question: an image, or a name to save it by. */
export class MessageFile extends Element {
  static override properties = fields("api path facts shown");
  declare api: API;
  /** Address of the bytes; empty while the question is being sent. */
  declare path: string;
  declare facts: AttachmentFacts;
  declare shown: string;

  override updated(): void {
    const isPicture = /^image\/(?:png|jpeg|gif|webp)$/.test(this.facts.media_type);
    if (isPicture && this.path && this.shown === undefined) void this.#show();
  }

  async #show(): Promise<void> {
    this.shown = "";
    try {
      const { dataUrl } = await import("../core/upload.js");
      this.shown = await dataUrl(await this.api.bytes(this.path));
    } catch {
      // It can still be saved.
    }
  }

  override render(): TemplateResult {
    const { name, size } = this.facts;
    if (this.shown) return html`<img class="media" src=${this.shown} alt=${name} />`;
    return html`<button class="plain file" type="button" ?disabled=${!this.path} title=${t.saveOne(name)} @click=${this.#save}>${icon("file")}<span class="file-name">${name}</span><span class="file-state">${fileSize(size)}</span></button>`;
  }

  async #save(): Promise<void> {
    const { saveBytes } = await import("./download.js");
    saveBytes(await this.api.bytes(this.path), this.facts.name);
  }
}

define("headrace-message-file", MessageFile);
