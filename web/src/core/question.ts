/** A question on its way to the server. */

import type { Ask } from "./api.js";

/** A question that is being sent. */
export interface Pending {
  readonly text: string | undefined;
  /** Id of the parent message. */
  readonly parentId: string | null;
  readonly conversationId: string | null;
  readonly startedAt: number;
  readonly ask: Ask;
  readonly key: string;
  /** Whether the user stopped it before the answer began. */
  isStopped: boolean;
}

/** A question that the server has not accepted, as far as is known. */
export interface Failed extends Pending {
  readonly error: Error;
  /** Ids of the known messages. A new message with the same text means that it was accepted after all. */
  readonly known: ReadonlySet<string>;
}

/** Text that returns to the composer. */
export interface Returned {
  readonly draftKey: string;
  readonly text: string;
}

/** Create a key under which the server accepts a question only once. */
export function randomKey(): string {
  // crypto.randomUUID needs a secure context, which a server in a local network may not provide.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
