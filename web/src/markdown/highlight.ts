/** Colours for code, from a chunk that is loaded when the first code is there. */

/** Longer code stays plain: colouring it would hold the page up. */
const MAX_CHARS = 100_000;

/** All that may come out: spans with classes around text that is escaped. */
const SPANS = /^[^<]*(?:<(?:span class="[\w -]*"|\/span)>[^<]*)*$/;

/** The code as safe HTML, or null where there is nothing to colour or no one knows the language. */
export async function highlight(code: string, language: string): Promise<string | null> {
  if (code.length > MAX_CHARS) return null;
  const { hljs } = await import("./grammars.js");
  if (!hljs.getLanguage(language)) return null;
  const html = hljs.highlight(code, { language, ignoreIllegals: true }).value;
  return SPANS.test(html) ? html : null;
}
