/** Base class of all elements. They render into the one shadow root of the chat, so that they share one style
 * sheet and text can be selected across them. */

import { LitElement, type PropertyDeclarations } from "lit";

export class Element extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}

/** Declare properties that only scripts set: an element is drawn again when one of them changes. */
export function fields(names: string): PropertyDeclarations {
  return Object.fromEntries(names.split(" ").map((name) => [name, { attribute: false }]));
}

/** Return the pressed key, or "" while an input method is composing, where Enter and Escape belong to it. (Safari
 * reports the last of them only by its code.) */
export function keyOf(event: KeyboardEvent): string {
  return event.isComposing || event.keyCode === 229 ? "" : event.key;
}

/** Move the focus to the successor of a removed element as soon as it is drawn, unless something else has the
 * focus. */
export function passFocus(successor: () => HTMLElement | null | undefined): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) successor()?.focus();
  });
}

export function define(name: string, element: CustomElementConstructor): void {
  if (!customElements.get(name)) customElements.define(name, element);
}
