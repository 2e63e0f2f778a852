/** Explains why an answer did not end normally, and what to do about it. */

import type { MessageEvent } from "./event.js";

/** What a button below the answer does: ask again, let the model go on, edit the question, or start anew. */
export type Remedy = "retry" | "continue" | "edit" | "new";

export interface Advice {
  readonly isError: boolean;
  readonly what: string;
  readonly todo: string;
  readonly detail: string;
  readonly remedy: Remedy | null;
}

type Row = readonly [what: string, todo: string, remedy: Remedy | null];

const FAILURES: Readonly<Record<string, Row>> = {
  auth: ["The provider rejected the API key.", "Set the provider's API key on the server, then retry.", "retry"],
  permission: ["The API key has no access to this model.", "Choose another model, or request access to this one.", "retry"],
  rate_limit: ["The provider's rate limit was reached.", "Wait a moment, then retry.", "retry"],
  overloaded: ["The provider is overloaded.", "Wait a moment, then retry.", "retry"],
  invalid_request: ["The provider rejected the request.", "Edit the question, or choose another model.", "edit"],
  not_found: ["The provider does not know this model.", "Choose another model, then retry.", "retry"],
  context_overflow: ["The conversation is too long for the model.", "Start a new conversation.", "new"],
  content_filter: ["The provider's content filter stopped the answer.", "Edit the question.", "edit"],
  server: ["The provider had an internal error.", "Retry.", "retry"],
  timeout: ["The answer took too long.", "Retry.", "retry"],
  network: ["The connection to the provider broke.", "Retry.", "retry"],
  incomplete: ["The provider's stream ended early.", "Retry.", "retry"],
  protocol: ["The provider sent data that cannot be read.", "Retry, or choose another model.", "retry"],
  storage: ["The server could not save the answer.", "Free disk space on the server, then retry.", "retry"],
  interrupted: ["The server stopped before the answer was complete.", "Retry to start again.", "retry"],
};

const ENDS: Readonly<Record<string, Row>> = {
  max_tokens: ["The answer reached its maximum length.", "", "continue"],
  content_filter: ["The provider's content filter ended the answer.", "Edit the question.", "edit"],
  context_full: ["The conversation filled the model's context window.", "Start a new conversation.", "new"],
  time_limit: ["The provider's time limit for an answer was reached.", "", "continue"],
  paused: ["The model paused.", "", "continue"],
};

const ABORTS: Readonly<Record<string, Row>> = {
  cancelled: ["You stopped this answer.", "The partial answer is kept.", "continue"],
  timeout: ["The answer took too long and was stopped.", "Retry.", "retry"],
  terminated: ["The answer was stopped by a rule of the server.", "", null],
  max_iterations: ["The answer reached its maximum number of steps.", "", "continue"],
};

export function adviceOf(event: MessageEvent, isUnsaved: boolean): Advice | null {
  const { error, finish } = event;
  if (error) {
    const [what, todo, remedy] = FAILURES[error.category] ?? ["The answer ended early.", "Retry.", "retry"];
    return { isError: true, what, todo, detail: error.message, remedy };
  }
  if (isUnsaved) {
    return { isError: true, what: "The answer could not be saved.", todo: "Copy it before you continue.", detail: "", remedy: null };
  }
  if (event.warning) {
    return { isError: false, what: "Part of the answer could not be read.", todo: "Retry.", detail: event.warning, remedy: "retry" };
  }
  const isAborted = finish?.word === "aborted";
  const said = (isAborted ? ABORTS : ENDS)[(isAborted ? finish.kind : finish?.word) ?? ""];
  if (!said) return null;
  const [what, todo, remedy] = said;
  // A model cannot continue an answer of which there is nothing.
  const isEmpty = !event.segments.some((one) => one.type === "text" && one.text !== "");
  return { isError: false, what, todo, detail: finish?.detail ?? "", remedy: isEmpty && remedy === "continue" ? "retry" : remedy };
}
