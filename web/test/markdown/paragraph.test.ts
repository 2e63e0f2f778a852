import { describe, expect, test } from "vitest";
import { renderWithParser } from "../../src/markdown/html.js";
import { simpleParagraph } from "../../src/markdown/paragraph.js";
import { below, pick, seeded, type Random } from "./documents.js";

const SIMPLE = (
  "a b word Größe naïve слово 水路 。 12 3.5 1. 2) . , ; : ? % / ( ) - -- – — … ' \" ’ “a” **bold** **two words** *em* *a, b* **a**, (**a**) " +
  "**a**: *a*. `code` `a b` `a_b(c)` a: (a) 'a'"
).split(" ");
const OTHERS = (
  "**a *a ** * ***both*** **a **b** c** a**b** **(a)** **a.** **a**b *a*b **a:b** ` `` ``a` `` `a`` `a`b` `*a*` **`a`** `x`*`y`* a_b _a_ ~~a~~ " +
  "~ # + = > < & &amp; \\ \\* $ $x$ [a] [a](b) ! ![a](b) | @ a@b.co www.a.co http://a.co https://a.co ftp://a.co mailto:a a:b a://b"
).split(" ");
const ODD = ["\t", "\u00a0", "\u200b", "🌊", "\n", "\n\n", " ", "  "];

/** Words that are simple, often with something among them that is not. */
function makeLine(random: Random): string {
  const others = [...SIMPLE, ...(below(random, 2) === 0 ? [] : OTHERS), ...(below(random, 4) === 0 ? ODD : [])];
  const word = (): string => pick(random, others) + pick(random, ["", " ", " ", " ", " ", " ", "  "]);
  const line = Array.from({ length: 1 + below(random, 7) }, word).join("");
  return pick(random, [line, line.trimEnd(), line.trimEnd(), `a ${line.trim()}`, `${line.trim()}\n\n`]);
}

describe("a simple paragraph", () => {
  test("is what the parser writes", () => {
    let simple = 0;
    for (let seed = 0; seed < 20_000; seed += 1) {
      const line = makeLine(seeded(seed));
      const html = simpleParagraph(line);
      if (html === null) continue;
      simple += 1;
      expect(html, JSON.stringify(line)).toBe(renderWithParser(line));
    }
    expect(simple).toBeGreaterThan(2_000);
  });

  test.each([
    ["Paragraph 1 weighs **one** thing against `another`, and it's *fine*.\n\n", "<p>Paragraph 1 weighs <strong>one</strong> thing against <code>another</code>, and it&#39;s <em>fine</em>.</p>\n"],
    ["**Cost**: it is (much) cheaper", "<p><strong>Cost</strong>: it is (much) cheaper</p>\n"],
    ["水は流れる。", "<p>水は流れる。</p>\n"],
  ])("is recognized: %j", (source, html) => {
    expect(simpleParagraph(source)).toBe(html);
    expect(renderWithParser(source)).toBe(html);
  });

  test.each(["a\nb", "1. a", "- a", "a <b>", "a & b", "www.example.com", "see https://example.org", "a@b.co", "[a](b)", "$x$", "a_b", "a\\*", "a ", "**a", "word ".repeat(500) + "end"])(
    "is nothing else (%#)", (source) => expect(simpleParagraph(source)).toBeNull());

  test("is found or refused in linear time", () => {
    for (const part of ["**a ", "*a ", "`a ", "a** ", "**a** ", "`a` ", "a: ", "( "]) {
      const began = performance.now();
      for (let time = 0; time < 20; time += 1) simpleParagraph(`a ${part.repeat(490)}<`);
      expect(performance.now() - began, part).toBeLessThan(500);
    }
  });
});
