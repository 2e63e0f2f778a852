/** The base of our elements: they draw into the one shadow root of the chat, so that there is one
 * style sheet, and text can be selected across them. */

import { LitElement } from "lit";

export class Element extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}

export function define(name: string, element: CustomElementConstructor): void {
  if (!customElements.get(name)) customElements.define(name, element);
}
