/** Highlights code and adds the style rules for it. Loaded when the first code block appears. */

import { highlight, loadHighlighter } from "../markdown/highlight.js";
import rules from "./styles/code.css";

export async function highlightCode(code: HTMLElement, text: string, language: string): Promise<void> {
  const html = await highlight(text, language);
  if (html === null) return;
  addRules(code.getRootNode());
  code.innerHTML = html;
}

/** Return a function that colors the complete lines of code that is being written. It does the work of a line once. */
export async function makeLineColorer(): Promise<(code: HTMLElement, language: string) => void> {
  const color = await loadHighlighter();
  let known = { lines: "", language: "", html: "" as string | null };
  return (code, language) => {
    const text = code.textContent ?? "";
    const lines = text.slice(0, text.trimEnd().lastIndexOf("\n") + 1);
    if (lines === "" || lines.length > MAX_LIVE_CHARS) return;
    if (lines !== known.lines || language !== known.language) known = { lines, language, html: color(lines, language) };
    if (known.html === null) return;
    addRules(code.getRootNode());
    code.innerHTML = known.html;
    code.append(text.slice(lines.length));
  };
}

/** Longer code gets its colors when it is complete. */
const MAX_LIVE_CHARS = 8_000;

const sheet = new CSSStyleSheet();
sheet.replaceSync(rules);

function addRules(root: Node): void {
  if (root instanceof ShadowRoot && !root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}
