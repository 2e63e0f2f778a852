import { describe, expect, test } from "vitest";
import { MarkdownStream, type Block } from "../../src/markdown/blocks.js";
import { toHtml } from "../../src/markdown/html.js";
import { GIANTS, makeDocument, seeded, slices } from "./documents.js";

// `make soak` takes more.
const DOCUMENTS = process.env.HEADRACE_SOAK_PAGES ? 3_000 : 1_000;

function stream(parts: readonly string[], render: (source: string) => string = toHtml): readonly Block[] {
  const made = new MarkdownStream(render);
  for (const part of parts) made.feed(part);
  made.close();
  return made.settled;
}

const plain = (blocks: readonly Block[]) => blocks.map(({ key, source, html }) => ({ key, source, html }));
const joined = (blocks: readonly Block[]) => blocks.map(({ html }) => html).join("");
const normal = (text: string) => text.replace(/\r\n?/g, "\n");

describe("incremental equals whole", () => {
  test(`for any slicing of ${DOCUMENTS} documents, and whole means what marked reads`, () => {
    for (let seed = 0; seed < DOCUMENTS; seed += 1) {
      const random = seeded(seed);
      const text = makeDocument(random);
      const whole = stream([text]);
      expect(plain(stream(slices(random, text, 6))), `seed ${seed}`).toEqual(plain(whole));
      expect(joined(whole), `seed ${seed}`).toBe(toHtml(normal(text).replace(/\n?$/, "\n")));
    }
  });

  test.each(Object.entries(GIANTS))("for blocks that do not end: %s", (_name, make) => {
    const text = make(40_000);
    const whole = plain(stream([text]));
    for (const longest of [16, 500, 7_000]) {
      expect(plain(stream(slices(seeded(longest), text, longest)))).toEqual(whole);
    }
  });

  test("for returns and line feeds that arrive apart", () => {
    expect(plain(stream(["a\r", "\n\r\nb\r", "c"]))).toEqual(plain(stream(["a\n\nb\nc"])));
  });
});

test("the sources of the blocks are the text", () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const text = makeDocument(seeded(seed));
    const sources = stream([text]).map(({ source }) => source).join("");
    expect(sources.trim()).toBe(normal(text).trim());
  }
});

test("a settled block stays the same object", () => {
  const text = makeDocument(seeded(5)).repeat(3);
  const made = new MarkdownStream(toHtml);
  let before: readonly Block[] = [];
  for (const part of slices(seeded(1), text, 6)) {
    made.feed(part);
    for (const [index, block] of before.entries()) expect(made.settled[index]).toBe(block);
    before = [...made.settled];
  }
});

test("a definition at the end makes only the blocks anew that use it", () => {
  const made = new MarkdownStream(toHtml);
  made.feed("See [the wheel].\n\nNothing [here].\n\n");
  made.feed("[The  Wheel]: https://example.org/wheel\n\n[the wheel]: https://example.org/second\n");
  const [uses, other] = made.settled;
  made.close();
  expect(made.settled[0]).not.toBe(uses);
  expect(made.settled[0]?.html).toContain("https://example.org/wheel");
  expect(made.settled[1]).toBe(other);
});

test("what looks like a definition in code defines nothing", () => {
  expect(joined(stream(["[a]\n\n```\n[a]: https://example.org\n```\n"]))).toContain("<p>[a]</p>");
});

test("before the end, the text is in the blocks and the tail", () => {
  const made = new MarkdownStream(toHtml);
  made.feed("One\n\nTwo\n\nThr");
  expect(made.settled.map(({ html }) => html)).toEqual(["<p>One</p>\n"]);
  expect(made.tail).toBe("<p>Two</p>\n<p>Thr</p>\n");
  made.close();
  expect(made.tail).toBe("");
});

test("a tail is made once, however often it is asked for", () => {
  let renders = 0;
  const made = new MarkdownStream((source) => {
    renders += 1;
    return source;
  });
  made.feed("Words");
  expect([made.tail, made.tail]).toEqual(["Words", "Words"]);
  expect(renders).toBe(1);
});

describe("however long a block gets", () => {
  /** How many characters are rendered for a text that is drawn every 64 characters. */
  function rendered(text: string): { all: number; most: number } {
    const counts = { all: 0, most: 0 };
    const made = new MarkdownStream((source) => {
      counts.all += source.length;
      counts.most = Math.max(counts.most, source.length);
      return source;
    });
    for (let at = 0; at < text.length; at += 64) {
      made.feed(text.slice(at, at + 64));
      void made.tail;
    }
    made.close();
    for (const block of made.settled) void block.html;
    return counts;
  }

  test.each(Object.entries(GIANTS))("work grows with the text, not with the block: %s", (_name, make) => {
    const [short, long] = [rendered(make(80_000)), rendered(make(260_000))];
    expect(long.all / Math.max(1, short.all)).toBeLessThan(3.6);
    expect(long.most).toBeLessThan(17_000);
  });

  test("a numbered list counts on", () => {
    const html = stream([GIANTS["numbered list"]?.(9_000) ?? ""]).map((block) => block.html);
    expect(html.length).toBeGreaterThan(1);
    const items = (html[0]?.match(/<li>/g) ?? []).length;
    expect(html[1]).toContain(`<ol start="${items + 1}">`);
  });

  test("a table has its head in every piece", () => {
    const html = stream([GIANTS["table"]?.(20_000) ?? ""]).map((block) => block.html);
    expect(html.length).toBeGreaterThan(1);
    for (const piece of html) expect(piece).toContain("<thead>\n<tr>\n<th>a</th>");
  });

  test("code stays code in its language", () => {
    const html = stream([GIANTS["code"]?.(40_000) ?? "", "\n```\n\nAfter"]).map((block) => block.html);
    expect(html.length).toBeGreaterThan(2);
    for (const piece of html.slice(0, -1)) expect(piece).toMatch(/^<figure class="code" data-language="python">/);
    expect(html.at(-1)).toBe("<p>After</p>\n");
  });

  test("a paragraph is cut after a sentence", () => {
    const sources = stream([GIANTS["paragraph"]?.(9_000) ?? ""]).map((block) => block.source);
    expect(sources[0]).toMatch(/slowly at first\. $/);
  });
});
