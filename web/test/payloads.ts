/** Hostile texts. The list is payloads.json, so that the browser tests in Python read the same one.
 * A payload succeeds if it calls pwned(), or asks canary.test for anything without a click. */

import list from "./payloads.json" with { type: "json" };

export interface Payload {
  readonly name: string;
  readonly kind: string;
  readonly text: string;
}

export const payloads: readonly Payload[] = list;
