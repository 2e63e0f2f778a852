/** `<details>` blocks, which hold Markdown and end with a line that ends with `</details>`. */

const OPENING = " {0,3}<details(?: open)?>";

/** A whole block. One inside another is not supported: the outer one ends with the inner one. */
export const DETAILS = new RegExp(
  `^${OPENING}\\s*(?:<summary>(?<summary>[^\\n]*?)</summary>)?(?<inner>[^]*?)</details>[ \\t]*(?:\\n|$)`,
  "i",
);

const OPENING_LINE = new RegExp(`^${OPENING}`, "i");

export function opensDetails(line: string): boolean {
  return OPENING_LINE.test(line);
}

export function closesDetails(line: string): boolean {
  return /<\/details>[ \t]*$/i.test(line);
}

/** Close a block that is still being written. */
export function closeDetails(text: string): string {
  const whole = text.replace(/<[a-z/]*$/i, "");
  const isSummaryOpen = /<summary>[^\n]*$/i.test(whole) && !/<\/summary>/i.test(whole);
  return `${whole}${isSummaryOpen ? "</summary>" : ""}\n\n</details>\n`;
}
