/** Downloads a conversation. It is fetched, because a link could not send an access token. */

import type { API } from "../core/api.js";

export async function download(api: API, id: string, title: string): Promise<void> {
  const text = await api.exported(id);
  const name = title.replace(/[^\p{L}\p{N} _-]/gu, "").trim().slice(0, 60) || "conversation";
  saveBytes(new Blob([text], { type: "text/markdown" }), `${name}.md`);
}

/** Save something under a name. */
export function saveBytes(bytes: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
