/** A file that goes with the next message. */

import { randomKey } from "./question.js";
import { t } from "../languages/language.js";

export interface Attachment {
  /** Key of the file in this page. */
  readonly key: string;
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
  /** Data URL of an image, to show it. */
  preview: string;
  /** From 0 to 1 while it is being uploaded. */
  progress: number;
  /** Id at the server, when it is there. */
  fileId: string;
  /** Why it cannot be sent. */
  problem: string;
  /** Ends the upload. */
  abort: () => void;
}

/** A file of a message, as the server describes it. */
export interface AttachmentFacts {
  readonly name: string;
  readonly media_type: string;
  readonly size: number;
}

export const MAX_FILES = 10;
export const MAX_BYTES = 20 * 1024 * 1024;
/** What the file chooser offers; the server decides by the bytes. */
export const ACCEPTED = "image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,audio/*,.md,.csv,.json,.yaml,.yml,.log,.py,.ts,.js";

/** Return the attachment for a file, with the reason if it cannot be sent. */
export function newAttachment(file: File): Attachment {
  const problem = file.size > MAX_BYTES ? t.tooLarge(fileSize(MAX_BYTES)) : file.size === 0 ? t.empty : "";
  const { name, type: mediaType, size } = file;
  return { key: randomKey(), name: name || "image", mediaType, size, preview: "", progress: 0, fileId: "", problem, abort: () => undefined };
}

/** Format a size: `1.4 MB`. */
export function fileSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
