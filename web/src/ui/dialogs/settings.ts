/** The settings of the user. Each is saved when it is changed, at the server if that knows its users. */

import { html, nothing, type TemplateResult } from "lit";
import type { UserSettings } from "../../core/api.js";
import type { Chat } from "../../core/chat.js";
import { effortName, sentence } from "../../core/format.js";
import { t } from "../../languages/language.js";
import { define, Element, fields } from "../element.js";
import "./account.js";

const MAX_INSTRUCTIONS = 8_000;

export class SettingsView extends Element {
  static override properties = fields("chat close told problem");
  declare chat: Chat;
  declare close: () => void;
  /** What has just happened. */
  declare told: string;
  declare problem: string;

  override render(): TemplateResult {
    const { chat } = this;
    const { theme = "system", language = "auto", send_key: sendKey = "enter", instructions = "" } = chat.settings.values;
    return html`<form class="settings-form" @submit=${(event: Event) => event.preventDefault()}>
      <fieldset><legend>${t.appearance}</legend>
        ${this.#select("theme", t.theme, Object.entries(t.themes), theme)}
        ${this.#select("language", t.language, Object.entries(t.languages), language)}
        ${this.#select("send_key", t.sendWith, Object.entries(t.sendKeys), sendKey)}
      </fieldset>
      <fieldset><legend>${t.answers}</legend>
        ${this.#models()}${this.#efforts()}
        <label>${t.instructionsForAll}<textarea rows="3" dir="auto" maxlength=${MAX_INSTRUCTIONS} aria-describedby="headrace-instructions-hint" .value=${instructions}
          @change=${(event: Event) => this.#save({ instructions: valueOf(event).trim() || null })}></textarea></label>
        <p class="hint" id="headrace-instructions-hint">${t.instructionsForAllHint}</p>
        <label>${t.instructionsHere}<textarea rows="2" dir="auto" maxlength=${MAX_INSTRUCTIONS} .value=${this.#instructionsHere} @change=${this.#saveHere}></textarea></label>
      </fieldset>
    </form>
    <p class="told" role="status">${this.told}</p>
    ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
    ${chat.account && chat.account.carrier !== "none" ? html`<headrace-account .chat=${chat}></headrace-account>` : nothing}
    <button class="plain" type="button" data-dialog="shortcuts">${t.shortcuts}</button>`;
  }

  #select(name: keyof UserSettings, label: string, choices: readonly (readonly [string, string])[], chosen: string): TemplateResult {
    return html`<label class="pick">${label}<select @change=${(event: Event) => this.#save({ [name]: valueOf(event) })}>
      ${choices.map(([value, title]) => html`<option value=${value} ?selected=${value === chosen}>${title}</option>`)}
    </select></label>`;
  }

  #models(): TemplateResult | typeof nothing {
    const { choice } = this.chat;
    if (choice.models.length < 2) return nothing;
    const name = choice.chosen?.name;
    return html`<label class="pick">${t.model}<select @change=${(event: Event) => this.#choose(valueOf(event), choice.effort)}>
      ${choice.models.map((one) => html`<option value=${one.name} ?selected=${one.name === name}>${one.name}</option>`)}
    </select></label>`;
  }

  #efforts(): TemplateResult | typeof nothing {
    const { choice } = this.chat;
    const efforts = choice.chosen?.efforts ?? [];
    if (efforts.length === 0) return nothing;
    return html`<label class="pick">${t.effort}<select @change=${(event: Event) => this.#choose(choice.model, valueOf(event) || undefined)}>
      <option value="">${t.default}</option>
      ${efforts.map((one) => html`<option value=${one} ?selected=${one === choice.effort}>${effortName(one)}</option>`)}
    </select></label>`;
  }

  /** Those of a conversation that has not begun yet are sent with its first question. */
  get #instructionsHere(): string {
    const { store, instructions } = this.chat;
    return store.open ? (store.open.conversation.instructions ?? "") : instructions;
  }

  #saveHere(event: Event): void {
    const { chat } = this;
    const instructions = valueOf(event).trim();
    const id = chat.store.open?.conversation.id;
    void this.#run(async () => {
      if (id) await chat.change(id, { instructions });
      else chat.instructions = instructions;
    });
  }

  #choose(model: string | undefined, effort: string | undefined): void {
    const { choice } = this.chat;
    // The first model of the server is the default.
    this.chat.choose(model === choice.models[0]?.name ? undefined : model, effort);
    this.told = t.saved;
  }

  #save(change: Partial<Record<keyof UserSettings, string | null>>): void {
    void this.#run(() => this.chat.settings.change(change));
  }

  async #run(work: () => Promise<void>): Promise<void> {
    this.told = this.problem = "";
    try {
      await work();
      this.told = t.saved;
    } catch (error) {
      this.problem = `${t.failed} ${sentence((error as Error).message)}`;
    }
    this.chat.changed();
  }
}

function valueOf(event: Event): string {
  return (event.target as HTMLSelectElement | HTMLTextAreaElement).value;
}

define("headrace-settings", SettingsView);
