/** Typesets math with KaTeX, from a chunk that is loaded when the first formula appears. */

import type { KatexOptions } from "katex";

/** The name of the style sheet contains a hash that only the build knows. */
declare const HEADRACE_MATH_STYLES: string | undefined;

const MAX_CHARS = 8_000;

const OPTIONS: KatexOptions = {
  // Formulas must not create links, images, classes or styles.
  trust: false,
  strict: "ignore",
  throwOnError: true,
  maxSize: 50,
  maxExpand: 500,
};

/** Typeset a placeholder in place, with the styles it needs. It builds elements, so `unsafe-inline` is not
 * needed. Invalid formulas stay as they are. */
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

/** Fonts must be declared in the document, style rules in the shadow root. */
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
