/** The input field. Unsent text survives a reload; Send becomes Stop in the same place. */

import { repeat } from "lit/directives/repeat.js";
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { ServedModel } from "../core/api.js";
import type { Chat } from "../core/chat.js";
import { keep, recall } from "../core/preferences.js";
import type { Returned } from "../core/question.js";
import { define, Element, fields, keyOf, passFocus } from "./element.js";
import { ACCEPTED, MAX_FILES, newAttachment, type Attachment } from "../core/attachment.js";
import { chosenFiles } from "./attachments.js";
import { effortName } from "../core/format.js";
import type { Queued } from "../core/queue.js";
import { icon } from "./icon.js";
import { isSendKey, isTouch } from "./send-key.js";
import type { UserMessage } from "./user-message.js";
import { t } from "../languages/language.js";

export class Composer extends Element {
  static override properties = fields("chat models draftKey isBusy isAsked returned taken queued said model effort sendKey text files");
  declare chat: Chat;
  declare models: readonly ServedModel[];
  /** Key of the conversation that the draft belongs to. */
  declare draftKey: string;
  declare isBusy: boolean;
  /** Whether the answer waits for the user. */
  declare isAsked: boolean;
  /** A message that could not be sent returns here. */
  declare returned: Returned | null;
  /** A text that was sent although it is in the composer again. */
  declare taken: Returned | null;
  declare queued: readonly Queued[];
  declare said: readonly Queued[];
  /** What is chosen, to draw the choice again when it changes. */
  declare model: string | undefined;
  declare effort: string | undefined;
  /** The key that sends: `enter`, or `mod_enter` for Ctrl or ⌘ with Enter. */
  declare sendKey: string | undefined;
  declare text: string;
  /** Files that go with the next message. */
  declare files: readonly Attachment[];

  constructor() {
    super();
    this.text = "";
    this.files = [];
  }

  override willUpdate(changed: PropertyValues): void {
    const { taken } = this;
    if (changed.has("taken") && taken && taken.text === this.text.trim()) {
      this.text = "";
      keep(draft(taken.draftKey), "");
    }
    if (changed.has("draftKey")) this.#turn(changed.get("draftKey") as string | undefined);
    const { returned } = this;
    if (!changed.has("returned") || !returned || returned.draftKey !== this.draftKey || this.text !== "") return;
    this.text = returned.text;
    keep(draft(this.draftKey), this.text);
  }

  /** Text written while the first question is being sent belongs to the conversation that it starts. */
  #turn(before: string | undefined): void {
    if (before === "new" && this.draftKey === this.chat.asking.begunId && this.text !== "") {
      keep(draft("new"), "");
      keep(draft(this.draftKey), this.text);
      return;
    }
    this.text = recall(draft(this.draftKey));
    for (const file of this.files) file.abort();
    this.files = [];
  }

  override updated(changed: PropertyValues): void {
    const area = this.area;
    if (!area) return;
    // The send button is replaced, so the focus moves to the input.
    if (changed.has("isBusy") && this.chat.asking.pending) passFocus(() => area);
    if (area.value !== this.text) area.value = this.text;
    area.rows = Math.min(8, Math.max(1, this.text.split("\n").length));
  }

  get area(): HTMLTextAreaElement | null {
    return this.querySelector("textarea");
  }

  override render(): TemplateResult {
    const canSend = this.text.trim() !== "" && this.files.every((one) => one.fileId);
    const isSending = !this.isBusy || canSend;
    return html`${this.#said()}${this.#queue()}<form class="composer" part="composer" @submit=${this.#submit} @paste=${this.#paste}>
      ${chosenFiles(this.files, (file) => this.#drop(file))}
      <textarea rows="1" placeholder=${this.isAsked ? t.answerAbove : this.isBusy ? t.addToQueue : t.ask} aria-label=${t.message} dir="auto"
        enterkeyhint=${isTouch() ? "enter" : "send"} @input=${this.#input} @keydown=${this.#key}></textarea>
      <div class="composer-foot">
        <button class="quiet" type="button" aria-label=${t.attach} title=${t.attachTitle} @click=${this.#browse}>${icon("clip")}</button>
        <input type="file" hidden multiple accept=${ACCEPTED} @change=${this.#browsed} />
        <span class="choices">${this.#models()}${this.#efforts()}</span>
        ${this.isBusy && isSending
          ? html`<button class="plain queue-button" type="submit" title=${t.queueTitle}>${t.queue}</button>`
          : nothing}
        ${this.isBusy
          ? html`<button class="round stop" type="button" aria-label=${t.stop} title=${t.stopTitle} @click=${this.#stop}>${icon("stop")}</button>`
          : html`<button class="round" type="submit" aria-label=${t.send} title=${t.sendTitle(this.sendKey === "mod_enter" ? MOD_ENTER : "Enter")} ?disabled=${!canSend}>${icon("send")}</button>`}
      </div>
    </form>`;
  }

  #browse(): void {
    this.querySelector<HTMLInputElement>("input[type=file]")?.click();
  }

  #browsed(event: Event): void {
    const input = event.target as HTMLInputElement;
    void this.attach(input.files);
    input.value = "";
    this.area?.focus();
  }

  #paste(event: ClipboardEvent): void {
    const files = event.clipboardData?.files;
    if (!files?.length) return;
    event.preventDefault();
    void this.attach(files);
  }

  /** Upload files for the next message. */
  async attach(files: Iterable<File> | null): Promise<void> {
    // The list is empty again when the event is over.
    const chosen = [...(files ?? [])];
    const { upload } = await import("../core/upload.js");
    const room = MAX_FILES - this.files.length;
    const changed = (): void => void (this.files = [...this.files]);
    for (const file of chosen.slice(0, room)) {
      const attachment = newAttachment(file);
      this.files = [...this.files, attachment];
      upload(this.chat.api, file, attachment, changed);
    }
    if (chosen.length > room) this.chat.announce(t.tooManyFiles(MAX_FILES));
  }

  #drop(file: Attachment): void {
    file.abort();
    this.files = this.files.filter((one) => one !== file);
    this.area?.focus();
  }

  /** What the model reads with its next step. */
  #said(): TemplateResult | typeof nothing {
    if (this.said.length === 0) return nothing;
    return html`<ul class="queue waiting" aria-label=${t.said}>${this.said.map((one) => html`<li>
      <span class="queued" dir="auto">${one.text}</span>
      <span class="queue-note">${t.readNext}</span>
    </li>`)}</ul>`;
  }

  /** What is asked next, when the answer is there. */
  #queue(): TemplateResult | typeof nothing {
    if (this.queued.length === 0) return nothing;
    const { chat } = this;
    return html`<ul class="queue" aria-label=${t.queue}>${repeat(this.queued, (one) => one.id, (one) => html`<li>
      <span class="queued" dir="auto">${one.text}</span>
      <button class="plain" type="button" title=${this.isBusy ? t.sayNow : t.askNow}
        @click=${() => void chat.queue.sendNow(one.id)}>${t.sendNow}</button>
      <button class="quiet" type="button" aria-label=${t.editQueued} title=${t.edit} @click=${() => this.#takeBack(one.id)}>${icon("edit")}</button>
      <button class="quiet" type="button" aria-label=${t.removeQueued} title=${t.remove} @click=${() => this.#remove(one.id)}>${icon("trash")}</button>
    </li>`)}</ul>`;
  }

  /** Put a queued message back where it was written. */
  #takeBack(id: string): void {
    const text = this.chat.queue.take(id);
    this.text = this.text.trim() === "" ? text : `${text}\n\n${this.text}`;
    keep(draft(this.draftKey), this.text);
    this.area?.focus();
  }

  #remove(id: string): void {
    this.chat.queue.take(id);
    this.area?.focus();
  }

  #models(): TemplateResult | typeof nothing {
    const { models } = this;
    const first = models[0];
    if (!first) return nothing;
    if (models.length === 1) return html`<span class="model">${first.model}</span>`;
    return html`<select aria-label=${t.model} @change=${this.#choose}>
      ${models.map((one) => html`<option value=${one.name} ?selected=${one.name === (this.model ?? first.name)}>${one.name}</option>`)}
    </select>`;
  }

  #efforts(): TemplateResult | typeof nothing {
    const efforts = this.chat.choice.chosen?.efforts ?? [];
    if (efforts.length === 0) return nothing;
    return html`<select aria-label=${t.effort} title=${t.effort} @change=${(event: Event) => this.#set(this.model, value(event) || undefined)}>
      <option value="">${t.default}</option>
      ${efforts.map((one) => html`<option value=${one} ?selected=${one === this.effort}>${effortName(one)}</option>`)}
    </select>`;
  }

  #choose(event: Event): void {
    this.#set(value(event), this.effort);
  }

  #set(model: string | undefined, effort: string | undefined): void {
    this.chat.choose(model, effort);
  }

  #input(event: Event): void {
    this.text = value(event);
    keep(draft(this.draftKey), this.text);
  }

  #key(event: KeyboardEvent): void {
    if (isSendKey(event, this.sendKey)) this.#submit(event);
    if (keyOf(event) === "ArrowUp" && this.text === "") this.#editLast(event);
  }

  #editLast(event: Event): void {
    const questions = (this.getRootNode() as ShadowRoot).querySelectorAll<UserMessage>("headrace-user-message");
    const last = [...questions].at(-1);
    if (!last) return;
    event.preventDefault();
    void last.edit();
  }

  #submit(event: Event): void {
    event.preventDefault();
    const text = this.text.trim();
    const { files } = this;
    // What waits in the queue has no files.
    if (text === "" || !files.every((one) => one.fileId) || (this.isBusy && files.length > 0)) return;
    this.text = "";
    this.files = [];
    keep(draft(this.draftKey), "");
    if (this.isBusy) this.chat.queue.add(text);
    else void this.chat.asking.send(text, files);
  }

  #stop(): void {
    void this.chat.stop();
    this.area?.focus();
  }
}

function value(event: Event): string {
  return (event.target as HTMLTextAreaElement | HTMLSelectElement).value;
}

const MOD_ENTER = /Mac|iP/.test(navigator.platform) ? "⌘ Enter" : "Ctrl+Enter";

const draft = (key: string): string => `draft.${key}`;

define("headrace-composer", Composer);
