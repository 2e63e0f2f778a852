/** Math, typeset by KaTeX from a chunk that is loaded when the first formula is there. */

import type { KatexOptions } from "katex";
import { escape } from "./escape.js";

/** The style sheet's name carries a hash, which only the build knows. */
declare const HEADRACE_MATH_STYLES: string | undefined;

const MAX_CHARS = 8_000;

const OPTIONS: KatexOptions = {
  // No links, pictures, classes or styles out of a formula.
  trust: false,
  strict: "ignore",
  throwOnError: true,
  maxSize: 50,
  maxExpand: 500,
};

/** The formula as safe HTML; its source where it cannot be read. It has style attributes, which a
 * strict Content-Security-Policy ignores: on such a page use `drawMath`. */
export async function renderMath(tex: string, display: boolean): Promise<string> {
  const katex = await load();
  try {
    return katex.renderToString(checked(tex), { ...OPTIONS, displayMode: display });
  } catch {
    return escape(tex);
  }
}

/** Typeset a placeholder in its place, with the styles it needs there. It builds elements, so it
 * needs no `unsafe-inline`. What cannot be read stays as it is. */
export async function drawMath(place: HTMLElement): Promise<void> {
  const tex = place.textContent ?? "";
  const katex = await load();
  const drawn = document.createElement("span");
  try {
    katex.render(checked(tex), drawn, { ...OPTIONS, displayMode: place.dataset["display"] === "true" });
  } catch {
    return;
  }
  addStyles(place.getRootNode());
  place.replaceChildren(drawn);
}

async function load() {
  return (await import("katex")).default;
}

function checked(tex: string): string {
  if (tex.length > MAX_CHARS) throw new RangeError(`a formula of ${tex.length} characters`);
  return tex;
}

const styled = new WeakSet<Node>();

/** A browser looks for fonts in the document alone, and for rules in the shadow root alone. */
function addStyles(root: Node): void {
  for (const place of [document.head, root instanceof ShadowRoot ? root : document.head]) {
    if (styled.has(place)) continue;
    styled.add(place);
    place.append(styleLink());
  }
}

function styleLink(): HTMLLinkElement {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  const name = typeof HEADRACE_MATH_STYLES === "undefined" ? "math.css" : HEADRACE_MATH_STYLES;
  link.href = new URL(name ?? "", import.meta.url).href;
  return link;
}
