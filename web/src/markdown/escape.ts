/** Text as HTML. */

const ENTITIES: Record<string, string> = {
  "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;",
};

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

/** For what stands between tags, where quotes mean nothing. */
export function escapeText(text: string): string {
  return text.replace(/[&<>]/g, (character) => ENTITIES[character] ?? "");
}
