/** The base of our elements: they draw into the one shadow root of the chat, so that there is one
 * style sheet, and text can be selected across them. */

import { LitElement } from "lit";

export class Element extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}

/** The key that was pressed, or "" while it belongs to an input method: there Enter takes a word and
 * Escape drops it. (Safari tells the last of them by its code alone.) */
export function keyOf(event: KeyboardEvent): string {
  return event.isComposing || event.keyCode === 229 ? "" : event.key;
}

/** Give the focus to the successor of what had it and is gone, as soon as that is drawn. What is
 * gone leaves it to the page; if anything else has it, it stays there. */
export function passFocus(successor: () => HTMLElement | null | undefined): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) successor()?.focus();
  });
}

export function define(name: string, element: CustomElementConstructor): void {
  if (!customElements.get(name)) customElements.define(name, element);
}
