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

const FAILURES: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  auth: ["The provider rejected the API key.", "Set the provider's API key on the server, then retry."],
  permission: ["The API key has no access to this model.", "Choose another model, or request access to this one."],
  rate_limit: ["The provider's rate limit was reached.", "Wait a moment, then retry."],
  overloaded: ["The provider is overloaded.", "Wait a moment, then retry."],
  invalid_request: ["The provider rejected the request.", "Rephrase the question, or choose another model."],
  not_found: ["The provider does not know this model.", "Choose another model."],
  context_overflow: ["The conversation is too long for the model.", "Start a new conversation."],
  content_filter: ["The provider's content filter stopped the answer.", "Rephrase the question."],
  server: ["The provider had an internal error.", "Retry."],
  timeout: ["The answer took too long.", "Retry."],
  network: ["The connection to the provider broke.", "Retry."],
  incomplete: ["The provider's stream ended early.", "Retry."],
  protocol: ["The provider sent data that cannot be read.", "Retry, or choose another model."],
  storage: ["The server could not save the answer.", "Free disk space on the server, then retry."],
  interrupted: ["The server stopped before the answer was complete.", "Retry to start again."],
};

const ENDS: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  max_tokens: ["The answer reached its maximum length.", "Ask the model to continue."],
  content_filter: ["The provider's content filter ended the answer.", "Rephrase the question."],
  context_full: ["The conversation filled the model's context window.", "Start a new conversation."],
  time_limit: ["The provider's time limit for an answer was reached.", "Ask the model to continue."],
  paused: ["The model paused.", "Ask the model to continue."],
};

const ABORTS: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  cancelled: ["You stopped this answer.", "The partial answer is kept."],
  timeout: ["The answer took too long and was stopped.", "Retry."],
  terminated: ["The answer was stopped by a rule of the server.", ""],
  max_iterations: ["The answer reached its maximum number of steps.", "Ask the model to continue."],
};

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
    const [what, todo] = FAILURES[error.category] ?? ["The answer ended early.", "Retry."];
    return { isError: true, what, todo, detail: error.message, remedy: remedyFor(error.category, event) };
  }
  if (isUnsaved) {
    return { isError: true, what: "The answer could not be saved.", todo: "Copy it before you continue.", detail: "", remedy: null };
  }
  if (event.warning) {
    return { isError: false, what: "Part of the answer could not be read.", todo: "Retry.", detail: event.warning, remedy: "retry" };
  }
  const isAborted = finish?.word === "aborted";
  const reason = (isAborted ? finish.kind : finish?.word) ?? "";
  const said = (isAborted ? ABORTS : ENDS)[reason];
  return said ? { isError: false, what: said[0], todo: said[1], detail: finish?.detail ?? "", remedy: remedyFor(reason, event) } : null;
}
