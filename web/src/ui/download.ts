/** Downloads a conversation. It is fetched, because a link could not send an access token. */

import type { API } from "../core/api.js";

/** Save a conversation in one of the formats of the server: `markdown`, `markdown-steps` or `json`. */
export async function download(api: API, id: string, title: string, format: string): Promise<void> {
  const bytes = await api.bytes(`api/conversations/${encodeURIComponent(id)}/export?format=${format}`);
  const name = title.replace(/[^\p{L}\p{N} _-]/gu, "").trim().slice(0, 60) || "conversation";
  saveBytes(bytes, `${name}.${format === "json" ? "json" : "md"}`);
}

/** Save something under a name. */
export function saveBytes(bytes: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
