/** The key that sends a message, in the composer and where a question is edited. */

import { keyOf } from "./element.js";

/** Whether one writes on the screen itself. */
export function isTouch(): boolean {
  return matchMedia("(pointer: coarse) and (hover: none)").matches;
}

/** Whether a key sends. A phone has no Shift to write a line break with, so there Enter writes one. */
export function isSendKey(event: KeyboardEvent, sendKey: string | undefined): boolean {
  const isAlone = sendKey !== "mod_enter" && !event.shiftKey && !isTouch();
  return keyOf(event) === "Enter" && (event.ctrlKey || event.metaKey || isAlone);
}
