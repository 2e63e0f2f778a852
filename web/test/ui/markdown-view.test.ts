// @vitest-environment jsdom
import { expect, test } from "vitest";
import type { MarkdownView } from "../../src/ui/markdown-view.js";

async function blocksOf(...htmls: string[]): Promise<string[]> {
  await import("../../src/ui/markdown-view.js");
  const view = document.createElement("headrace-markdown") as MarkdownView;
  view.prose = { blocks: htmls.map((html, key) => ({ key, source: html, html })), tail: "<p>t</p>" };
  return [...view.querySelectorAll(".block")].map((block) => block.innerHTML);
}

test("blocks that are added together stay apart, in pages and before the open end", async () => {
  const htmls = Array.from({ length: 100 }, (_, number) => `<p>${number}</p>\n`);
  expect(await blocksOf(...htmls)).toEqual([...htmls, "<p>t</p>"]);
});

test("no block reaches into the next one", async () => {
  expect(await blocksOf("<p>a</p></div><p>b</p>", "<p>c</p>")).toEqual(["<p>a</p><p>b</p>", "<p>c</p>", "<p>t</p>"]);
});
