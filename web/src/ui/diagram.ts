/** Shows a Mermaid diagram in place of its source. Loaded when the first one is shown. */

import { t } from "../languages/language.js";

/** Longer sources stay as they are: drawing them would take seconds. */
const MAX_CHARS = 20_000;
const MAX_HEIGHT_PX = 1_600;

/** Draw a diagram when it comes into view. A button in its bar shows the source and hides it. */
export function showDiagram(figure: HTMLElement, source: string): void {
  if (source.length > MAX_CHARS) return;
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    new Diagram(figure, source);
  });
  seen.observe(figure);
}

class Diagram {
  readonly #figure: HTMLElement;
  readonly #frame = document.createElement("iframe");
  readonly #night = matchMedia("(prefers-color-scheme: dark)");
  readonly #source: string;

  constructor(figure: HTMLElement, source: string) {
    this.#figure = figure;
    this.#source = source;
    this.#frame.className = "diagram";
    this.#frame.title = t.diagram;
    // The policy of the page in the frame says the same; this holds even if a proxy removes headers.
    this.#frame.setAttribute("sandbox", "allow-scripts");
    this.#frame.setAttribute("referrerpolicy", "no-referrer");
    this.#frame.src = new URL("./diagram.html", import.meta.url).href;
    addEventListener("message", this.#receive);
    this.#night.addEventListener("change", this.#ask);
    figure.querySelector("figcaption")?.after(this.#frame);
  }

  readonly #receive = ({ source, data }: MessageEvent<"ready" | { height: number | null }>): void => {
    if (!this.#figure.isConnected) return this.#leave();
    if (source !== this.#frame.contentWindow) return;
    if (data === "ready") return this.#ask();
    if (typeof data.height !== "number") return this.#leave();
    this.#frame.style.height = `${Math.min(data.height, MAX_HEIGHT_PX)}px`;
    this.#figure.classList.add("drawn");
  };

  readonly #ask = (): void => {
    if (!this.#figure.isConnected) return this.#leave();
    const isDark = isDarkIn(this.#figure);
    this.#frame.style.colorScheme = isDark ? "dark" : "light";
    this.#frame.contentWindow?.postMessage({ source: this.#source, isDark }, "*");
  };

  /** The source is not a diagram, or the answer is not shown any more. */
  #leave(): void {
    removeEventListener("message", this.#receive);
    this.#night.removeEventListener("change", this.#ask);
    this.#frame.remove();
    this.#figure.classList.remove("drawn");
  }
}

/** Whether light text stands on dark ground here: the theme of the page, of the element or of the system. */
function isDarkIn(figure: HTMLElement): boolean {
  const [red = 0, green = 0, blue = 0] = (getComputedStyle(figure).color.match(/[\d.]+/g) ?? []).map(Number);
  return red + green + blue > 382;
}
