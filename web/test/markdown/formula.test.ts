import { describe, expect, test } from "vitest";
import { toHtml } from "../../src/markdown/html.js";

function formulas(text: string): { tex: string; display: boolean }[] {
  const found = toHtml(text).matchAll(/<span class="math" data-display="(true|false)">([^<]*)<\/span>/g);
  return [...found].map(([, display, tex]) => ({ tex: tex ?? "", display: display === "true" }));
}

describe("math is found", () => {
  test.each([
    ["a $x^2$ b", "x^2", false],
    ["\\(x_1 + y_1\\)", "x_1 + y_1", false],
    ["$$x$$", "x", true],
    ["a $$x$$ b", "x", true],
    ["\\[ x \\]", "x", true],
    ["$$\nx\n=\ny\n$$", "x\n=\ny", true],
    ["\\[\na\n- b\n\\]", "a\n- b", true],
    ["Text:\n$$\na\n- b\n$$\nmore", "a\n- b", true],
    ["- item $a_1$", "a_1", false],
    ["| $a$ |\n|---|", "a", false],
    ["$\\$5$", "\\$5", false],
    ["**$a*b$**", "a*b", false],
  ])("in %j", (text, tex, display) => expect(formulas(text)).toEqual([{ tex, display }]));
});

describe("math is not seen", () => {
  test.each([
    "$5 and $6", "$5-$6", "costs $20,000 and $30", "$ x $", "a$", "$$", "$$ $$", "`$x$`", "```\n$x$\n```",
    "\\$x$", "$x", "\\(x", "$$\na\n\nb\n$$", "US$5 to US$10",
  ])("in %j", (text) => expect(formulas(text)).toEqual([]));
});

test("what is in it is text", () => {
  expect(toHtml("$<b>\"x\"</b>$")).toBe(
    '<p><span class="math" data-display="false">&lt;b&gt;&quot;x&quot;&lt;/b&gt;</span></p>\n',
  );
});
