/** Highlights code and adds the style rules for it. Loaded when the first code block appears. */

import { highlight } from "../markdown/highlight.js";
import rules from "./styles/code.css";

export async function highlightCode(code: HTMLElement, text: string, language: string): Promise<void> {
  const html = await highlight(text, language);
  if (html === null) return;
  addRules(code.getRootNode());
  code.innerHTML = html;
}

const sheet = new CSSStyleSheet();
sheet.replaceSync(rules);

function addRules(root: Node): void {
  if (root instanceof ShadowRoot && !root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}
