// @vitest-environment jsdom
import { describe, expect, test } from "vitest";
import { renderBlocks } from "../../src/markdown/blocks.js";

const html = (text: string): string => renderBlocks(text).map((block) => block.html).join("").trim();

describe("markdown", () => {
  test.each([
    ["*a* **b** ~~c~~ `d`", "<p><em>a</em> <strong>b</strong> <del>c</del> <code>d</code></p>"],
    ["a  \nb\\\nc", "<p>a<br>b<br>c</p>"],
    ["a<br>b", "<p>a<br>b</p>"],
    ["3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>'],
    ["a <b>c</b>", "<p>a &lt;b&gt;c&lt;/b&gt;</p>"],
    ["<div>\n\n**a**\n\n</div>", "<p>&lt;div&gt;</p>\n<p><strong>a</strong></p>\n<p>&lt;/div&gt;</p>"],
    ["```c++ x\na < b\n```", '<figure data-language="c++" class="code"><figcaption>c++</figcaption><pre tabindex="0"><code class="language-c++">a &lt; b\n</code></pre></figure>'],
    ["    a", '<figure class="code"><figcaption></figcaption><pre tabindex="0"><code>a\n</code></pre></figure>'],
  ])("%j", (text, expected) => expect(sorted(html(text))).toBe(sorted(expected)));

  test("a table can be scrolled by keyboard and keeps its columns in line", () => {
    const table = html("| a | b |\n|:--|--:|\n| 1 | 2 |");
    expect(table).toMatch(/^<div (?:tabindex="0" class="table"|class="table" tabindex="0")><table>/);
    expect(table).toContain('<td align="right">2</td>');
  });

  test("tasks say whether they are done", () => {
    const list = html("- [x] a\n- [ ] b");
    expect(list).toMatch(/aria-label="done"[^>]*><\/span> a/);
    expect(list).toMatch(/aria-label="to do"[^>]*><\/span> b/);
    expect(list).not.toContain("<input");
  });

  test("what marked cannot read is shown as it is", () => {
    expect(html("> ".repeat(500) + "deep")).toContain("deep");
    expect(html("[".repeat(20_000))).toContain("[[[");
  });
});

/** Attributes come out in another order than they went in. */
function sorted(text: string): string {
  return text.replace(/<(\w+)((?: [\w-]+="[^"]*")+)/g, (_, tag: string, all: string) =>
    `<${tag}${(all.match(/ [\w-]+="[^"]*"/g) ?? []).sort().join("")}`);
}

describe("links", () => {
  function link(text: string): HTMLAnchorElement | null {
    return new DOMParser().parseFromString(html(text), "text/html").querySelector("a");
  }

  test("open elsewhere, and tell where they go", () => {
    const made = link("[a](https://example.org/b 'c')");
    expect(made?.getAttribute("target")).toBe("_blank");
    expect(made?.getAttribute("rel")).toBe("noopener noreferrer nofollow");
    expect(made?.title).toBe("https://example.org/b");
    expect(made?.textContent).toBe("a");
  });

  test.each(["/a", "a", "#a", "?a", "//example.org", "javascript:a", "data:text/html,a", "ftp://example.org", "about:blank"])(
    "to %s are none", (address) => expect(link(`[a](${address})`)).toBeNull());

  test.each([
    ["[https://bank.example](https://evil.example/x)", "evil.example"],
    ["[bank.example](https://evil.example:8443)", "evil.example:8443"],
    ["[www.bank.example](https://bank.example)", undefined],
    ["[bank.example](https://bank.example@evil.example)", "evil.example"],
    ["[bank\u200b.example](https://evil.example)", "evil.example"],
    ["[b&#97;nk.example](https://evil.example)", "evil.example"],
    ["[bаnk.example](https://bаnk.example)", "xn--bnk-6cd.example"],
    ["https://example.org/a", undefined],
    ["[the bank](https://evil.example)", undefined],
  ])("show their host where their text names another: %s", (text, host) => {
    expect(link(text)?.querySelector("bdi.host")?.textContent).toBe(host);
  });

  test("have no disguise left in their address", () => {
    expect(link("[a](https://bank.example@evil.example)")?.href).toBe("https://evil.example/");
  });

  test("are not turned around by invisible characters", () => {
    expect(link("[a\u202eb\u2066c&#x202e;](https://example.org)")?.textContent).toBe("abc");
  });
});

describe("what Markdown has no signs for", () => {
  test.each([
    ["H<sub>2</sub>O, x<SUP>2</SUP>, <kbd>Ctrl</kbd>", "<p>H<sub>2</sub>O, x<sup>2</sup>, <kbd>Ctrl</kbd></p>"],
    ['<sub class="x">a</sub>', '<p>&lt;sub class="x"&gt;a</p>'],
    ["a[^1]", '<p>a<sup class="footnote">1</sup></p>'],
    ["[^1]: The *source*.", '<p class="footnotes"><sup>1</sup> The <em>source</em>.</p>'],
    ["<details>\n<summary>More</summary>\n\n- a\n\n</details>", "<details><summary>More</summary>\n<ul>\n<li>a</li>\n</ul>\n</details>"],
  ])("%s", (text, made) => expect(html(text)).toBe(made));

  test("tasks are marked, done or not", () => {
    const made = html("- [x] a\n- [ ] b");
    expect(made.match(/<li class="task-item">/g)).toHaveLength(2);
    expect(made).toMatch(/data-checked="true".*\n.*data-checked="false"/);
  });
});

describe("pictures", () => {
  test("are links that name their host, and load nothing", () => {
    const picture = html("![a wheel](https://example.org/wheel.png)");
    expect(picture).not.toContain("<img");
    expect(picture).toMatch(/<a [^>]*class="image"/);
    expect(picture).toContain('a wheel <bdi class="host">example.org</bdi>');
  });

  test("in a link leave it the only one", () => {
    const picture = html("[![a](https://example.org/a.png) b](https://example.org)");
    expect(picture.match(/<a /g)).toHaveLength(1);
    expect(picture).toContain('<span class="image">a</span> b');
  });

  test("that the text carries are shown, but for documents", () => {
    expect(html("![a](data:image/png;base64,iVBORw0KGgo=)")).toContain('src="data:image/png;base64,iVBORw0KGgo="');
    expect(html("![a](data:image/svg+xml;base64,PHN2Zz4=)")).toBe('<p><span class="image">a</span></p>');
  });
});

describe("characters that are not seen", () => {
  test("do not turn text around, or hide words in it", () => {
    expect(html("a\u202eb")).toBe("<p>a\ufffdb</p>");
    expect(html("a&#x202e;b")).toBe("<p>a\ufffdb</p>");
    expect(html("a\u{e0069}\u{e0067}b")).toBe("<p>ab</p>");
  });

  test("stay where they belong", () => {
    const honest = "👩‍👩‍👧 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} می‌خواهم";
    expect(html(honest)).toBe(`<p>${honest}</p>`);
  });
});
