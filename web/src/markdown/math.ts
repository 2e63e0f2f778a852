/** Math, typeset by KaTeX from a chunk that is loaded when the first formula is there. */

import type { KatexOptions } from "katex";

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

/** Typeset a placeholder in its place, with the styles it needs there. It builds elements, so it
 * needs no `unsafe-inline`. What cannot be read stays as it is. */
export async function drawMath(place: HTMLElement): Promise<void> {
  const tex = place.textContent ?? "";
  if (tex.length > MAX_CHARS) return;
  const { default: katex } = await import("katex");
  const drawn = document.createElement("span");
  try {
    katex.render(tex, drawn, { ...OPTIONS, displayMode: place.dataset["display"] === "true" });
  } catch {
    return;
  }
  addStyles(place.getRootNode());
  place.replaceChildren(drawn);
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
