/** Shows HTML or SVG of an answer in a frame without an origin and without a network. Loaded when one is opened. */

import { t } from "../languages/language.js";

/** Open or close the preview below a block of code. */
export function togglePreview(figure: HTMLElement, button: HTMLElement, code: string): void {
  const open = figure.querySelector(".preview");
  button.setAttribute("aria-expanded", open ? "false" : "true");
  if (open) return open.remove();
  const frame = document.createElement("iframe");
  frame.className = "preview";
  frame.title = t.preview;
  // The policy of the page in the frame says the same; this holds even if a proxy removes headers.
  frame.setAttribute("sandbox", "allow-scripts");
  frame.setAttribute("referrerpolicy", "no-referrer");
  frame.src = new URL("./preview.html", import.meta.url).href;
  frame.addEventListener("load", () => frame.contentWindow?.postMessage(code, "*"), { once: true });
  figure.append(frame);
}
