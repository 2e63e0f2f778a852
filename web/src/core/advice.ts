/** What happened to an answer that did not end by itself, in a sentence, and what to do. */

import type { MessageEvent } from "./event.js";

export interface Advice {
  readonly isError: boolean;
  readonly what: string;
  readonly todo: string;
  readonly detail: string;
}

const FAILURES: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  auth: ["The provider did not accept the key.", "Set the provider's key where the server runs, then try again."],
  permission: ["The key may not use this model.", "Choose another model, or ask for access to this one."],
  rate_limit: ["The provider takes no more requests right now.", "Wait a moment, then try again."],
  overloaded: ["The provider is overloaded.", "Wait a moment, then try again."],
  invalid_request: ["The provider did not understand the request.", "Ask in another way, or choose another model."],
  not_found: ["The provider does not know this model.", "Choose another model."],
  context_overflow: ["The conversation is longer than the model can read.", "Begin a new conversation."],
  content_filter: ["The provider's filter has stopped the answer.", "Ask in another way."],
  server: ["The provider had a fault.", "Try again."],
  timeout: ["The answer took too long.", "Try again."],
  network: ["The connection to the provider broke.", "Try again."],
  incomplete: ["The provider's stream broke off.", "Try again."],
  protocol: ["The provider sent something that cannot be read.", "Try again, or choose another model."],
  storage: ["The server could not save.", "Make room on its disk, then try again."],
  interrupted: ["The server stopped before the answer was complete.", "Try again: it begins anew."],
};

const ENDS: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  max_tokens: ["The answer has reached its greatest length.", "Ask for the rest."],
  content_filter: ["The provider's filter has ended the answer.", "Ask in another way."],
  context_full: ["The conversation has filled the model's memory.", "Begin a new conversation."],
  time_limit: ["The provider's time for an answer was up.", "Ask for the rest."],
  paused: ["The model has paused.", "Ask it to go on."],
};

const ABORTS: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  cancelled: ["You stopped this answer.", "What came is kept."],
  timeout: ["The answer took too long and was ended.", "Try again."],
  terminated: ["The answer was ended by a rule of the server.", ""],
  max_iterations: ["The answer took as many steps as it may.", "Ask it to go on."],
};

export function adviceOf(event: MessageEvent, isUnsaved: boolean): Advice | null {
  const { error, finish } = event;
  if (error) {
    const [what, todo] = FAILURES[error.category] ?? ["The answer broke off.", "Try again."];
    return { isError: true, what, todo, detail: error.message };
  }
  if (isUnsaved) {
    return { isError: true, what: "The answer could not be saved.", todo: "Copy it before you go on.", detail: "" };
  }
  const table = finish?.word === "aborted" ? ABORTS : ENDS;
  const said = table[(finish?.word === "aborted" ? finish.kind : finish?.word) ?? ""];
  return said ? { isError: false, what: said[0], todo: said[1], detail: finish?.detail ?? "" } : null;
}
