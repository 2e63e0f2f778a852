/** Adds a copy button, highlighting, math and on-demand images to a settled block.
 *
 * Highlighting and math are loaded when the first block needs them. */

import { html, nothing, render, type TemplateResult } from "lit";
import { copyButton } from "./copy.js";
import { icon, type IconName } from "./icon.js";
import { t } from "../languages/language.js";

export function enhance(block: HTMLElement): void {
  for (const figure of block.querySelectorAll<HTMLElement>("figure.code")) enhanceCode(figure);
  enhanceMath(block);
}

/** Typeset the formulas of a block. */
export function enhanceMath(block: HTMLElement): void {
  for (const place of block.querySelectorAll<HTMLElement>(".math")) void setMath(place);
}

function enhanceCode(figure: HTMLElement): void {
  const code = figure.querySelector("code");
  const bar = figure.querySelector("figcaption");
  if (!code || !bar) return;
  const text = code.textContent ?? "";
  const place = document.createElement("span");
  const language = figure.dataset["language"];
  const isDrawn = language === "html" || language === "svg";
  const isDiagram = language === "mermaid";
  if (isDiagram) void import("./diagram.js").then(({ showDiagram }) => showDiagram(figure, text));
  render(html`${isDrawn ? previewButton(figure, text) : isDiagram ? sourceButton(figure) : nothing}${copyButton(() => text, t.copyCode)}`, place);
  bar.append(place);
  if (language) setColours(code, text, language);
}

/** What a model has written as a page or a drawing is shown when somebody asks for it, and only then. */
function previewButton(figure: HTMLElement, text: string): TemplateResult {
  const toggle = (event: Event): void => {
    const button = event.currentTarget as HTMLElement;
    void import("./preview.js").then(({ togglePreview }) => togglePreview(figure, button, text));
  };
  return foldButton(t.preview, "play", toggle);
}

/** A diagram takes the place of its source, which is shown again on demand. */
function sourceButton(figure: HTMLElement): TemplateResult {
  return foldButton(t.showCode, "code", ({ currentTarget }) => {
    const isShown = figure.classList.toggle("with-source");
    (currentTarget as HTMLElement).setAttribute("aria-expanded", String(isShown));
  });
}

function foldButton(name: string, picture: IconName, toggle: (event: Event) => void): TemplateResult {
  return html`<button class="quiet fold" type="button" aria-label=${name} title=${name} aria-expanded="false" @click=${toggle}>${icon(picture)}</button>`;
}

type Highlighter = import("./highlight-code.js").Highlighter;

let highlighter: Highlighter | undefined;
let loading: Promise<Highlighter> | undefined;

/** Load the highlighter once. It is kept, because even an import of what is loaded takes until after the next paint. */
function loadHighlighter(): Promise<Highlighter> {
  loading ??= import("./highlight-code.js").then(async ({ makeHighlighter }) => (highlighter = await makeHighlighter()));
  // After a failure it is loaded again with the next code.
  loading.catch(() => (loading = undefined));
  return loading;
}

/** Color the complete lines of code that is being written. */
export function enhanceTail(tail: HTMLElement): void {
  enhanceMath(tail);
  const figure = [...tail.querySelectorAll<HTMLElement>("figure.code")].at(-1);
  const code = figure?.querySelector("code");
  const language = figure?.dataset["language"];
  if (!code || !language) return;
  if (highlighter) return highlighter.colorLines(code, language);
  if (loading) return;
  loadHighlighter().then(() => tail.isConnected && enhanceTail(tail), ignore);
}

const MAX_COLOURED_CHARS = 50_000;

/** Color complete code, in the same frame if the highlighter is loaded. */
function setColours(code: HTMLElement, text: string, language: string): void {
  if (text.length > MAX_COLOURED_CHARS) return;
  if (highlighter) highlighter.color(code, text, language);
  else loadHighlighter().then(({ color }) => color(code, text, language), ignore);
}

/** Code without colors can be read too. */
function ignore(): void {}

const MAX_SET = 200;
const set = new Map<string, Node>();

/** Formulas that were typeset before appear at once, so that nothing moves between two frames. */
async function setMath(place: HTMLElement): Promise<void> {
  const key = `${place.dataset["display"]} ${place.textContent}`;
  const known = set.get(key);
  if (known) return place.replaceChildren(known.cloneNode(true));
  const { drawMath } = await import("../markdown/math.js");
  await drawMath(place);
  if (set.size >= MAX_SET) set.clear();
  if (place.firstChild) set.set(key, place.firstChild.cloneNode(true));
}
