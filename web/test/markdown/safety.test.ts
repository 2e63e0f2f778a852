// @vitest-environment jsdom
import { describe, expect, test, vi } from "vitest";
import { MarkdownStream, renderBlocks } from "../../src/markdown/blocks.js";
import { loadHighlighter } from "../../src/markdown/highlight.js";
import { toHtml } from "../../src/markdown/html.js";
import { drawMath } from "../../src/markdown/math.js";
import { sanitize } from "../../src/markdown/sanitize.js";
import { payloads } from "../payloads.js";
import { below, seeded } from "./documents.js";

/** Written out again on purpose: a slip in the sanitiser's lists must not slip in here. */
const TAGS = new Set(
  ("P H1 H2 H3 H4 H5 H6 UL OL LI BLOCKQUOTE PRE CODE FIGURE FIGCAPTION DIV TABLE THEAD TBODY TR TH TD " +
    "STRONG EM DEL A BR HR SPAN BDI IMG SUB SUP KBD MARK DETAILS SUMMARY").split(" "),
);
const ATTRIBUTES = new Set(
  ("class title alt start align tabindex role aria-label target rel href src " +
    "data-language data-display data-checked").split(" "),
);
const CLASSES = /^(?:code|table|image|host|math|task|task-item|footnotes?|language-[\w+#.-]+)$/;

function parse(html: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

function faults(html: string): string[] {
  const page = parse(html);
  const found: string[] = [];
  for (const element of page.querySelectorAll("*")) {
    if (!TAGS.has(element.tagName)) found.push(`<${element.tagName}>`);
    for (const { name, value } of element.attributes) {
      if (!ATTRIBUTES.has(name)) found.push(`${name}="${value}"`);
      if (name === "href" && !/^(?:https?:\/\/|mailto:)/.test(value)) found.push(`href ${value}`);
      if (name === "href" && element.getAttribute("rel") !== "noopener noreferrer nofollow") found.push("rel");
      if (name === "href" && element.getAttribute("target") !== "_blank") found.push("target");
      if (name === "src" && !/^data:image\/(?:png|jpeg|gif|webp);base64,/.test(value)) found.push(`src ${value}`);
      if (name === "class" && !value.split(" ").every((each) => CLASSES.test(each))) found.push(`class ${value}`);
    }
    if (/[\u202d\u202e\u{e0000}-\u{e007f}]/u.test(element.textContent ?? "")) found.push("turned or hidden text");
  }
  return found;
}

test("there are enough payloads, each with its own name", () => {
  expect(payloads.length).toBeGreaterThanOrEqual(120);
  expect(new Set(payloads.map(({ name }) => name)).size).toBe(payloads.length);
});

describe("nothing forbidden comes out", () => {
  test.each(payloads)("$name, whole", ({ text }) => {
    const html = renderBlocks(text).map((block) => block.html).join("");
    expect(faults(html)).toEqual([]);
  });

  test.each(payloads.map((payload, seed) => ({ ...payload, seed })))("$name, cut anywhere", ({ text, seed }) => {
    const whole = `Before ${text} after`;
    const cut = 7 + below(seeded(seed), text.length);
    const stream = new MarkdownStream();
    stream.feed(whole.slice(0, cut));
    expect(faults(stream.tail)).toEqual([]);
  });

  test.each([...new Set(payloads.map(({ kind }) => kind))])("%s payloads, cut everywhere", (kind) => {
    // All tails go through the sanitiser at once: jsdom gets slower with every document.
    const tails = new Set<string>();
    for (const { text } of payloads.filter((payload) => payload.kind === kind)) {
      for (let cut = 1; cut <= text.length; cut += 1) {
        const stream = new MarkdownStream(toHtml);
        stream.feed(text.slice(0, cut));
        tails.add(stream.tail);
      }
    }
    expect(faults(sanitize([...tails].join("\n")))).toEqual([]);
  });

  test.each(payloads)("$name, given to the sanitiser as HTML", ({ text }) => {
    expect(faults(sanitize(text))).toEqual([]);
  });
});

test("all payloads in one text, in one table and in one list do no more", () => {
  const texts = payloads.map(({ text }) => text);
  for (const text of [texts.join("\n\n"), texts.map((each) => `- ${each}`).join("\n"), texts.join(" ")]) {
    for (const { html } of renderBlocks(text)) expect(faults(html)).toEqual([]);
  }
});

test("code in every language comes back as spans around escaped text", async () => {
  for (const language of ["xml", "javascript", "php", "css", "bash", "yaml"]) {
    for (const { text } of payloads) {
      const page = parse(((await loadHighlighter())(text, language)) ?? "");
      const tags = [...page.querySelectorAll("*")];
      expect(tags.every(({ tagName, attributes }) => tagName === "SPAN" && attributes.length <= 1)).toBe(true);
      expect(page.textContent).toBe(text);
    }
  }
});

test("math has no links, pictures, handlers or foreign classes", async () => {
  for (const { text } of payloads) {
    const tex = text.replaceAll("$", "");
    const page = document.createElement("div");
    page.dataset["display"] = "true";
    page.textContent = tex;
    await drawMath(page);
    expect(page.querySelectorAll("a, img, script, iframe, image, [href], [src], [id], [onerror], [onload]")).toHaveLength(0);
    for (const { name, value } of [...page.querySelectorAll("*")].flatMap(({ attributes }) => [...attributes])) {
      expect(name).not.toMatch(/^on/);
      if (name === "style") expect(value).not.toMatch(/url|expression|position:fixed/);
    }
  }
});

describe("what is returned without a look at its tree", () => {
  const outside = "<p title=\"x\">y</p>";
  test("is the same as what is returned with one", () => {
    // The second element has an attribute, so both are parsed and written again.
    for (const text of ["a **b** `c`", "- one\n- *two*\n\n> three", "# x & y < z", "1. \"q\" 'r'\n\n---\n", "```c++\na < b && \"c\"\n```\n\n- x\n  ```\n  d\n  ```"]) {
      const html = toHtml(text);
      const written = sanitize(html + outside).replace(outside, "");
      expect(parse(sanitize(html)).textContent).toBe(parse(written).textContent);
      expect([...parse(sanitize(html)).querySelectorAll("*")].map((one) => one.tagName)).toEqual(
        [...parse(written).querySelectorAll("*")].map((one) => one.tagName),
      );
    }
  });

  test("has plain blocks and code in it", () => {
    const parsed = vi.spyOn(DOMParser.prototype, "parseFromString");
    for (const text of ["a **b**", "```python\nx = 1 < 2\n```", "- x\n  ```\n  d\n  ```"]) sanitize(toHtml(text));
    expect(parsed).not.toHaveBeenCalled();
    sanitize(toHtml("[a](https://b.example)"));
    expect(parsed).toHaveBeenCalled();
    parsed.mockRestore();
  });

  test.each([
    "<p onclick=x>a</p>", "<script>a</script>", "<p><img src=x onerror=y></p>", "<p\n>a</p>", "<svg></svg>", "<p/onclick=x>a</p>",
    "<style>a</style>", "<code >a</code >", "<iframe>", "<!-- a -->", "<p>\u202e</p>", "<strong style=x>a</strong>", "&#60;script>",
    '<figure class="code" onclick="x"><figcaption></figcaption><pre tabindex="0"><code>a</code></pre></figure>',
    '<figure class="code"><figcaption></figcaption><pre tabindex="0"><code><img src=x onerror=y></code></pre></figure>',
    '<figure class="code" data-language="a" id="b"><figcaption>a</figcaption><pre tabindex="0"><code>a</code></pre></figure>',
  ])("is not %j", (html) => expect(faults(sanitize(html))).toEqual([]));
});
