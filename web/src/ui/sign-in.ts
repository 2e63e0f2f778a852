/** The sign-in form: a name and a password, or an access token, as the server offers. The token stays in this browser and
 * is only sent in a header; the password is sent once. */

import { html, nothing, type TemplateResult } from "lit";
import { Refused, type API } from "../core/api.js";
import { sentence } from "../core/format.js";
import { keep, recall } from "../core/preferences.js";
import { t } from "../languages/language.js";
import { define, Element, fields, passFocus } from "./element.js";

const TOKEN = "token";

export class SignInForm extends Element {
  static override properties = fields("api ways takesFocus done isToken problem isSending");
  declare api: API;
  /** What the server offers: `password`, `token`. */
  declare ways: readonly string[];
  declare takesFocus: boolean;
  declare done: () => void;
  /** Whether the user prefers an access token. */
  declare isToken: boolean;
  declare problem: string;
  declare isSending: boolean;

  override willUpdate(): void {
    if (this.hasUpdated) return;
    this.isToken = !this.ways.includes("password");
    this.problem = recall(TOKEN) ? t.tokenRefused : "";
  }

  override firstUpdated(): void {
    if (this.takesFocus) passFocus(() => this.querySelector("input"));
  }

  override render(): TemplateResult {
    const isBoth = this.ways.includes("password") && this.ways.includes("token");
    return html`<form class="token" @submit=${this.#submit}>
      <h2>${t.signIn}</h2>
      ${this.problem ? html`<p role="alert"><strong>${this.problem}</strong></p>` : nothing}
      ${this.isToken
        ? html`<p>${t.tokenHint} <code>headrace token create</code>.</p>
            <input name="token" type="password" aria-label=${t.accessToken} autocomplete="off" required />`
        : html`<label>${t.userName}<input name="user" type="text" autocomplete="username" autocapitalize="none" spellcheck="false" required /></label>
            <label>${t.password}<input name="password" type="password" autocomplete="current-password" required /></label>`}
      <button class="strong" type="submit" ?disabled=${this.isSending}>${t.signIn}</button>
      ${isBoth ? html`<button class="plain" type="button" @click=${this.#other}>${this.isToken ? t.usePassword : t.useToken}</button>` : nothing}
    </form>`;
  }

  async #other(): Promise<void> {
    this.isToken = !this.isToken;
    this.problem = "";
    await this.updateComplete;
    this.querySelector("input")?.focus();
  }

  #submit(event: Event): void {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.target as HTMLFormElement)) as Record<string, string>;
    if (!this.isToken) return void this.#signIn(fields["user"] ?? "", fields["password"] ?? "");
    keep(TOKEN, fields["token"]?.trim() ?? "");
    this.problem = t.tokenRefused;
    this.done();
  }

  async #signIn(user: string, password: string): Promise<void> {
    this.isSending = true;
    this.problem = "";
    keep(TOKEN, "");
    try {
      await this.api.json("api/sign-in", "POST", { user, password });
      this.done();
    } catch (error) {
      this.problem = explain(error as Error);
      const field = this.querySelector<HTMLInputElement>("[name=password]");
      if (field) field.value = "";
      field?.focus();
    }
    this.isSending = false;
  }
}

function explain(error: Error): string {
  if (!(error instanceof Refused)) return t.unreachable;
  if (error.status === 429) return t.tryAgainIn(Math.max(1, Math.ceil(error.retryAfterMs / 1_000)));
  return error.status === 401 ? t.signInRefused : sentence(error.message);
}

define("headrace-sign-in", SignInForm);
