/** A question on its way to the server. */

import type { Ask } from "./api.js";
import type { AttachmentFacts } from "./attachment.js";

/** A question that is being sent. */
export interface Pending {
  readonly text: string | undefined;
  /** Id of the parent message. */
  readonly parentId: string | null;
  readonly conversationId: string | null;
  readonly startedAt: number;
  readonly ask: Ask;
  readonly key: string;
  readonly attachments?: readonly AttachmentFacts[];
  /** Whether the user stopped it before the answer began. */
  isStopped: boolean;
  /** Whether it was refused before, so that its text is in the composer again. */
  readonly isRepeated?: boolean;
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

const TITLE_CHARS = 60;
const MAX_CUT_CHARS = 20;

/** Return the beginning of a question as a title, cut at a word, as the server does. */
export function titleOf(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  if (line.length <= TITLE_CHARS) return line;
  const end = line.lastIndexOf(" ", TITLE_CHARS);
  return end < TITLE_CHARS - MAX_CUT_CHARS ? `${line.slice(0, TITLE_CHARS - 1)}…` : `${line.slice(0, end)} …`;
}

/** Create a key under which the server accepts a question only once. */
export function randomKey(): string {
  // crypto.randomUUID needs a secure context, which a server in a local network may not provide.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
