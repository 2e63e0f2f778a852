/** Explains why an answer did not end normally, and what to do about it. */

import type { MessageEvent } from "./event.js";
import { t } from "../languages/language.js";

/** What a button below the answer does: ask again, let the model go on, edit the question, or start anew. */
export type Remedy = "retry" | "continue" | "edit" | "new";

export interface Advice {
  readonly isError: boolean;
  readonly what: string;
  readonly todo: string;
  readonly detail: string;
  readonly remedy: Remedy | null;
}

/** What the button does where it is not "Retry". */
const REMEDIES: Readonly<Record<string, Remedy | null>> = {
  invalid_request: "edit",
  content_filter: "edit",
  context_overflow: "new",
  context_full: "new",
  max_tokens: "continue",
  time_limit: "continue",
  paused: "continue",
  cancelled: "continue",
  max_iterations: "continue",
  terminated: null,
};

/** A model cannot continue an answer of which there is nothing. */
function remedyFor(reason: string, event: MessageEvent): Remedy | null {
  const remedy = REMEDIES[reason];
  const isEmpty = !event.segments.some((one) => one.type === "text" && one.text !== "");
  return remedy === undefined || (remedy === "continue" && isEmpty) ? "retry" : remedy;
}

export function adviceOf(event: MessageEvent, isUnsaved: boolean): Advice | null {
  const { error, finish } = event;
  if (error) {
    const [what, todo] = t.failures[error.category] ?? t.otherFailure;
    return { isError: true, what, todo, detail: error.message, remedy: remedyFor(error.category, event) };
  }
  if (isUnsaved) {
    const [what, todo] = t.unsaved;
    return { isError: true, what, todo, detail: "", remedy: null };
  }
  if (event.warning) {
    const [what, todo] = t.unreadable;
    return { isError: false, what, todo, detail: event.warning, remedy: "retry" };
  }
  const isAborted = finish?.word === "aborted";
  const reason = (isAborted ? finish.kind : finish?.word) ?? "";
  const said = (isAborted ? t.aborts : t.ends)[reason];
  return said ? { isError: false, what: said[0], todo: said[1], detail: finish?.detail ?? "", remedy: remedyFor(reason, event) } : null;
}
