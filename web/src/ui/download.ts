/** Downloads a conversation. It is fetched, because a link could not send an access token. */

import type { API } from "../core/api.js";

export async function download(api: API, id: string, title: string): Promise<void> {
  const text = await api.exported(id);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/markdown" }));
  link.download = `${title.replace(/[^\p{L}\p{N} _-]/gu, "").trim().slice(0, 60) || "conversation"}.md`;
  link.click();
  URL.revokeObjectURL(link.href);
}
