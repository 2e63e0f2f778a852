/** Highlights code, using a chunk that is loaded when the first code block appears. */

/** Longer code stays plain, because highlighting it would block the page. */
const MAX_CHARS = 100_000;

/** The only allowed output: spans with classes around escaped text. */
const SPANS = /^[^<]*(?:<(?:span class="[\w -]*"|\/span)>[^<]*)*$/;

/** Load the languages. The returned function gives code as safe HTML, or null if its language is unknown or missing. */
export async function loadHighlighter(): Promise<(code: string, language: string) => string | null> {
  const grammars = await import("./grammars.js");
  return (code, language) => colored(grammars, code, language);
}

type Grammars = typeof import("./grammars.js");

function colored({ hljs, hasGrammar }: Grammars, code: string, language: string): string | null {
  if (code.length > MAX_CHARS || !hasGrammar(language)) return null;
  const html = hljs.highlight(code, { language, ignoreIllegals: true }).value;
  return SPANS.test(html) ? html : null;
}
