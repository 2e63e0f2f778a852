import { expect, test } from "vitest";
import { closeOpen } from "../../src/markdown/closing.js";

test.each([
  ["- a\n  ```py\n  b", "- a\n  ```py\n  b"],
  ["- a\n  ```py\n  b\n  ``", "- a\n  ```py\n  b\n"],
  ["- a\n  ```py\n  b\n  ```\n  c **d", "- a\n  ```py\n  b\n  ```\n  c **d**"],
  ["<details>\n<summary>a</summ", "<details>\n<summary>a</summary>\n\n</details>\n"],
  ["x<su", "x"],
  ["a **b", "a **b**"],
  ["a **b*", "a **b**"],
  ["a **", "a"],
  ["a *b **c", "a *b **c***"],
  ["a _b", "a _b_"],
  ["snake_case", "snake_case"],
  ["2 * 3", "2 * 3"],
  ["a ~~b", "a ~~b~~"],
  ["a ~~b~", "a ~~b~~"],
  ["a `b", "a `b`"],
  ["a `", "a"],
  ["a ``b ` c", "a ``b ` c``"],
  ["`**` and **b", "`**` and **b**"],
  ["a [b", "a b"],
  ["a [b]", "a b"],
  ["a [b](https://exa", "a b"],
  ["a [b](https://example.org)", "a [b](https://example.org)"],
  ["a [b] c", "a [b] c"],
  ["a ![b](https://exa", "a"],
  ["a **[b](ht", "a **b**"],
  ["a $$x", "a $$x$$"],
  ["a $$x$", "a $$x$$"],
  ["a \\(x", "a \\(x\\)"],
  ["a \\[x\\", "a \\[x\\]"],
  ["costs $5", "costs $5"],
  ["**a**\n\nb *c", "**a**\n\nb *c*"],
  ["- a\n- **b", "- a\n- **b**"],
  ["- **a\n- b", "- **a\n- b"],
  ["a\n-", "a"],
  ["a\n=", "a"],
  ["a\n\n#", "a"],
  ["a\n\n1.", "a"],
  ["a\n\n``", "a"],
  ["| a", "| a |\n|---|\n"],
  ["| a | b |\n", "| a | b |\n|---|---|\n"],
  ["| a | b |\n|--", "| a | b |\n|---|---|\n"],
  ["| a |\n|---|\n| **b", "| a |\n|---|\n| **b**"],
  ["text\n\n```pyt", "text"],
  ["- item\n  ~~~", "- item"],
  ["a ``` b", "a ``` b```"],
])("%j is drawn as %j", (open, closed) => expect(closeOpen(open, false)).toBe(closed));

test.each([
  ["```\na\n``", "```\na\n"],
  ["```\n**a", "```\n**a"],
  ["```", "```"],
])("in code, %j is drawn as %j", (open, closed) => expect(closeOpen(open, true)).toBe(closed));

test("what no one means is left alone", () => {
  const stars = "*a **b ".repeat(600).trim();
  expect(closeOpen(stars, false)).toBe(stars);
});
