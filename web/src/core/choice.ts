/** The model and the effort that the user has chosen. The server keeps them, or else this browser. */

import type { ServedModel, UserSettings } from "./api.js";
import { keep, recall } from "./preferences.js";

const NONE: readonly ServedModel[] = [];

export class Choice {
  /** Name of the model; undefined for the first one of the server. */
  model: string | undefined;
  /** Undefined for the effort of the agent. */
  effort: string | undefined;
  /** Name of the model that the page around the chat has chosen. The user has no choice then. */
  fixed: string | undefined;
  #models = NONE;

  /** The models that the user may choose from. */
  get models(): readonly ServedModel[] {
    return this.fixed ? NONE : this.#models;
  }

  get chosen(): ServedModel | undefined {
    return this.#models.find((one) => one.name === this.model) ?? this.#models[0];
  }

  /** Choose what was chosen last, if there still is such a model. */
  recall(models: readonly ServedModel[], settings?: UserSettings): void {
    this.#models = models;
    this.model = this.fixed ?? this.model ?? (settings ? settings.model : recall("model"));
    const found = this.chosen;
    this.model = found && found !== models[0] ? found.name : undefined;
    const effort = this.effort ?? (settings ? (settings.effort ?? "") : recall("effort"));
    this.effort = found?.efforts?.includes(effort) ? effort : undefined;
  }

  set(model: string | undefined, effort: string | undefined): void {
    this.model = model;
    this.effort = effort;
    keep("model", model ?? "");
    keep("effort", effort ?? "");
  }
}
