/** Highlights code and adds the style rules for it. Loaded when the first code block appears. */

import { loadHighlighter } from "../markdown/highlight.js";
import rules from "./styles/code.css";

export interface Highlighter {
  /** Color complete code. */
  color(code: HTMLElement, text: string, language: string): void;
  /** Color the complete lines of code that is being written. The work of a line is done once. */
  colorLines(code: HTMLElement, language: string): void;
}

/** Load the languages, and return what colors code at once. */
export async function makeHighlighter(): Promise<Highlighter> {
  const highlight = await loadHighlighter();
  let known = { lines: "", language: "", html: "" as string | null };
  return {
    color(code, text, language) {
      const html = highlight(text, language);
      if (html !== null) show(code, html);
    },
    colorLines(code, language) {
      const text = code.textContent ?? "";
      const lines = text.slice(0, text.trimEnd().lastIndexOf("\n") + 1);
      if (lines === "" || lines.length > MAX_LIVE_CHARS) return;
      if (lines !== known.lines || language !== known.language) known = { lines, language, html: highlight(lines, language) };
      if (known.html === null) return;
      show(code, known.html);
      code.append(text.slice(lines.length));
    },
  };
}

function show(code: HTMLElement, html: string): void {
  code.innerHTML = html;
  if (code.isConnected) addRules(code.getRootNode());
  // What is being rendered gets its place in the page after this, in the same frame.
  else queueMicrotask(() => addRules(code.getRootNode()));
}

/** Longer code gets its colors when it is complete. */
const MAX_LIVE_CHARS = 8_000;

const sheet = new CSSStyleSheet();
sheet.replaceSync(rules);

function addRules(root: Node): void {
  if (root instanceof ShadowRoot && !root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}
