/** The settings of the user. A server with accounts keeps them, for all pages of the user. */

import type { UserSettings } from "./api.js";
import { Refused } from "./api.js";
import type { Chat } from "./chat.js";
import { keep, ofThisTab, recall } from "./preferences.js";

/** Settings that are changed; null sets the default. */
type SettingsChange = Readonly<Partial<Record<keyof UserSettings, string | null>>>;
/** Under this name a tab keeps the changes that the server has not confirmed. */
const UNSAVED = "unsaved";

export class UserSettingsKeeper {
  values: UserSettings = {};
  readonly #chat: Chat;
  #saving: Promise<UserSettings> = Promise.resolve({});
  #unsaved: SettingsChange = {};

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  /** Change settings. A server without accounts does not keep them. */
  async change(change: SettingsChange): Promise<void> {
    const { api, account, changed: redraw } = this.#chat;
    const changed = Object.entries({ ...this.values, ...change }).filter(([, value]) => value !== null);
    this.values = Object.fromEntries(changed) as UserSettings;
    redraw();
    if (!account) return;
    this.#unsaved = { ...this.#unsaved, ...change };
    keep(UNSAVED, JSON.stringify(this.#unsaved), ofThisTab());
    // One after the other: the last change counts.
    const save = (): Promise<UserSettings> => api.json<UserSettings>("api/account/settings", "PATCH", change);
    const saving = (this.#saving = this.#saving.then(save, save));
    const saved = await saving.catch((error: unknown) => {
      if (error instanceof Refused) this.#forgetUnsaved();
      throw error;
    });
    if (saving !== this.#saving) return;
    this.values = saved;
    this.#forgetUnsaved();
  }

  /** Take the settings of the server, and save again what a reload has cut off. */
  restore(values: UserSettings): void {
    this.values = values;
    const unsaved = recall(UNSAVED, ofThisTab());
    if (unsaved) void this.#chat.guard(() => this.change(JSON.parse(unsaved) as SettingsChange));
  }

  #forgetUnsaved(): void {
    this.#unsaved = {};
    keep(UNSAVED, "", ofThisTab());
  }
}
