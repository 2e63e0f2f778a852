/** Keeps what a person reads where it is on the screen when the overlay of an answer goes. */

import type { StepsPanel } from "./steps-panel.js";

const PANELS = "headrace-steps-panel";

/** Measure an answer that is about to be drawn as it is stored. Call the returned function when it is drawn. */
export function holdPlace(answer: HTMLElement): () => Promise<void> {
  const scroller = answer.closest(".scroller")!;
  const { top } = scroller.getBoundingClientRect();
  const { scrollTop } = scroller;
  const article = answer.firstElementChild as HTMLElement;
  const whole = heightOf(article);
  const focused = (answer.getRootNode() as ShadowRoot).activeElement;
  const panels = [...answer.querySelectorAll<StepsPanel>(PANELS)].map((panel) => {
    // The panel itself may be stuck to the top; what follows it tells where its own place ends.
    const isAbove = panel.nextElementSibling!.getBoundingClientRect().top <= top;
    return { panel, isAbove, isLast: panel.phase === "live", height: heightOf(panel), hadFocus: panel.contains(focused) };
  });
  return async () => {
    await Promise.all(panels.map(({ panel }) => panel.updateComplete));
    let gone = 0;
    for (const { panel, isAbove, isLast, height, hadFocus } of panels) {
      const less = height - heightOf(panel);
      if (isAbove) gone += less;
      // What is on the screen keeps its space: there may be nothing to scroll.
      else if (isLast) article.style.minHeight = `${whole - gone}px`;
      else if (less > 0) panel.style.paddingTop = `${less}px`;
      if (hadFocus) panel.querySelector<HTMLElement>("button, summary")?.focus({ preventScroll: true });
    }
    scroller.scrollTop = scrollTop - gone;
    scroller.dispatchEvent(new CustomEvent("headrace-placed"));
  };
}

/** Give back the space that was held. */
export function releasePlace(answer: HTMLElement): void {
  for (const one of answer.querySelectorAll<HTMLElement>(`article, ${PANELS}`)) one.style.paddingTop = one.style.minHeight = "";
}

function heightOf(one: globalThis.Element): number {
  return one.getBoundingClientRect().height;
}
