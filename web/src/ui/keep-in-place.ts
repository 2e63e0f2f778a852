/** Keeps what a person reads where it is on the screen when messages are added above it. */

const MESSAGES = "headrace-user-message, headrace-assistant-message";
/** Messages are drawn in several steps, each of which may change their height. */
const FRAMES = 40;
const READER_EVENTS = ["wheel", "touchmove", "keydown", "pointerdown"];

/** Measure where the first visible message is. Call the returned function when messages were added above it. */
export function keepInPlace(scroller: HTMLElement): () => Promise<void> {
  const edge = scroller.getBoundingClientRect().top;
  const messages = [...scroller.querySelectorAll<HTMLElement>(MESSAGES)];
  const anchor = messages.find((one) => one.getBoundingClientRect().bottom > edge);
  const top = anchor?.getBoundingClientRect().top ?? 0;
  return async () => {
    let isOver = false;
    const stop = (): void => void (isOver = true);
    for (const name of READER_EVENTS) scroller.addEventListener(name, stop, { once: true, passive: true });
    for (let frame = 0; frame < FRAMES && !isOver && anchor?.isConnected; frame += 1) {
      const moved = anchor.getBoundingClientRect().top - top;
      if (Math.abs(moved) >= 1) scroller.scrollTop += moved;
      await new Promise(requestAnimationFrame);
    }
    for (const name of READER_EVENTS) scroller.removeEventListener(name, stop);
  };
}
