/** The account in the settings: password, sign-ins, and signing out. */

import { html, nothing, type TemplateResult } from "lit";
import { Refused } from "../../core/api.js";
import type { Chat } from "../../core/chat.js";
import { sentence } from "../../core/format.js";
import { forgetAll } from "../../core/preferences.js";
import { t } from "../../languages/language.js";
import { define, Element, fields } from "../element.js";

interface SignIn {
  readonly id: string;
  readonly last_used_ms: number;
  readonly client: string;
  readonly is_current: boolean;
}

export class AccountView extends Element {
  static override properties = fields("chat signIns told problem isWrong");
  declare chat: Chat;
  declare signIns: readonly SignIn[] | undefined;
  declare told: string;
  declare problem: string;
  /** Whether the old password was wrong. */
  declare isWrong: boolean;

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.#isPerson) void this.#list();
  }

  /** Whether the user has signed in with a password, and is not named by a token or a proxy. */
  get #isPerson(): boolean {
    return this.chat.account?.carrier === "cookie";
  }

  override render(): TemplateResult {
    const { account } = this.chat;
    return html`<section class="account" aria-label=${t.account}>
      <h3>${t.account}</h3>
      <p>${t.signedInAs(account?.user ?? "")}</p>
      ${this.#isPerson ? html`${this.#password()}${this.#signInList()}` : nothing}
      <p class="told" role="status">${this.told}</p>
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
      ${account?.carrier === "proxy" ? nothing : html`<button class="plain" type="button" @click=${this.#signOut}>${t.signOut}</button>`}
    </section>`;
  }

  #password(): TemplateResult {
    return html`<details><summary>${t.changePassword}</summary>
      <form class="settings-form" @submit=${this.#change}>
        <input type="text" autocomplete="username" .value=${this.chat.account?.user ?? ""} hidden readonly />
        <label>${t.oldPassword}<input name="old" type="password" autocomplete="current-password" required aria-describedby="headrace-old-password" /></label>
        <p class="problem" id="headrace-old-password" role="alert" ?hidden=${!this.isWrong}>${this.isWrong ? t.oldPasswordWrong : nothing}</p>
        <label>${t.newPassword}<input name="new" type="password" autocomplete="new-password" minlength="8" required /></label>
        <button class="strong" type="submit">${t.changePassword}</button>
      </form>
    </details>`;
  }

  #signInList(): TemplateResult | typeof nothing {
    const { signIns = [] } = this;
    if (signIns.length === 0) return nothing;
    return html`<details><summary>${t.signIns} (${signIns.length})</summary>
      <ul class="sign-ins">${signIns.map((one) => this.#row(one))}</ul>
    </details>`;
  }

  #row(one: SignIn): TemplateResult {
    const client = browserName(one.client);
    return html`<li>
      <span><strong>${client}</strong> <span class="hint">${one.is_current ? t.thisBrowser : t.lastUsed(new Date(one.last_used_ms).toLocaleString())}</span></span>
      ${one.is_current ? nothing : html`<button class="plain" type="button" aria-label=${t.endSignIn(client)} @click=${() => void this.#end(one.id)}>${t.end}</button>`}
    </li>`;
  }

  async #list(): Promise<void> {
    await this.#run(async () => {
      this.signIns = (await this.chat.api.json<{ items: SignIn[] }>("api/sign-ins")).items;
    });
  }

  async #end(id: string): Promise<void> {
    await this.#run(async () => {
      await this.chat.api.json(`api/sign-ins/${encodeURIComponent(id)}`, "DELETE");
    });
    await this.#list();
    this.querySelector<HTMLElement>("details:has(.sign-ins) summary")?.focus();
  }

  #change(event: Event): void {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const { old, new: next } = Object.fromEntries(new FormData(form));
    void this.#run(async () => {
      if (!(await this.#accepts(old, next))) return form.querySelector<HTMLInputElement>("[name=old]")?.select();
      form.reset();
      await this.#list();
      this.told = t.passwordChanged;
    });
  }

  /** Change the password. Returns whether the old one was right. */
  async #accepts(old: unknown, next: unknown): Promise<boolean> {
    this.isWrong = false;
    try {
      await this.chat.api.json("api/account/password", "POST", { old, new: next });
    } catch (error) {
      this.isWrong = error instanceof Refused && error.code === "wrong_password";
      if (!this.isWrong) throw error;
    }
    return !this.isWrong;
  }

  /** Forget what this browser has kept: the next person may be another one. */
  #signOut(): void {
    void this.#run(async () => {
      if (this.#isPerson) await this.chat.api.json("api/sign-out", "POST");
      forgetAll();
      location.assign(location.pathname + location.search);
      if (location.hash !== "") location.reload();
    });
  }

  async #run(work: () => Promise<void>): Promise<void> {
    this.told = this.problem = "";
    try {
      await work();
    } catch (error) {
      this.problem = `${t.failed} ${sentence((error as Error).message)}`;
    }
  }
}

/** Return a short name for what a browser says about itself. */
export function browserName(client: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(client)?.[1];
  const names: Readonly<Record<string, string>> = { Edg: "Edge", OPR: "Opera" };
  const system = /Windows|Mac OS X|Android|iPhone|iPad|Linux/.exec(client)?.[0];
  const told = [browser && (names[browser] ?? browser), system === "Mac OS X" ? "macOS" : system].filter(Boolean).join(", ");
  return told || client.slice(0, 60) || t.unknownBrowser;
}

define("headrace-account", AccountView);
