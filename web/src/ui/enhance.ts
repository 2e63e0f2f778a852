/** What a settled block gets: a copy button, colours, math, and pictures on demand. Colours and
 * math are loaded from our own files when the first block needs them. */

import { render } from "lit";
import { copyButton } from "./copy.js";

export function enhance(block: HTMLElement): void {
  for (const figure of block.querySelectorAll<HTMLElement>("figure.code")) enhanceCode(figure);
  for (const math of block.querySelectorAll<HTMLElement>(".math")) void enhanceMath(math);
}

function enhanceCode(figure: HTMLElement): void {
  const code = figure.querySelector("code");
  if (!code) return;
  const text = code.textContent ?? "";
  const language = figure.dataset["language"] ?? "";
  const bar = document.createElement("figcaption");
  bar.append(language);
  const place = document.createElement("span");
  render(copyButton(() => text, "Copy code"), place);
  bar.append(place);
  figure.prepend(bar);
  if (language !== "") void colour(code, text, language);
}

const MAX_COLOURED_CHARS = 50_000;

async function colour(code: HTMLElement, text: string, language: string): Promise<void> {
  if (text.length > MAX_COLOURED_CHARS) return;
  const { highlight } = await import("../markdown/highlight.js");
  const html = await highlight(text, language);
  if (html !== null) code.innerHTML = html;
}

async function enhanceMath(place: HTMLElement): Promise<void> {
  const { drawMath } = await import("../markdown/math.js");
  await drawMath(place);
}
