// @vitest-environment jsdom
import { describe, expect, test } from "vitest";
import { loadHighlighter } from "../../src/markdown/highlight.js";
import { drawMath } from "../../src/markdown/math.js";

describe("colours", () => {
  test("come for the languages we know, by any of their names", async () => {
    expect((await loadHighlighter())("let x = 1 < 2", "ts")).toContain('<span class="hljs-keyword">let</span>');
    expect((await loadHighlighter())("let x = 1 < 2", "typescript")).toContain("&lt;");
  });

  test("do not come for others, nor for endless code", async () => {
    expect((await loadHighlighter())("x", "klingon")).toBeNull();
    expect((await loadHighlighter())("x".repeat(200_000), "python")).toBeNull();
  });
});

describe("math", () => {
  function place(tex: string, display = false): HTMLElement {
    const made = document.createElement("span");
    made.dataset["display"] = String(display);
    made.textContent = tex;
    return made;
  }

  async function drawn(tex: string, display = false): Promise<string> {
    const made = place(tex, display);
    await drawMath(made);
    return made.innerHTML;
  }

  test("is typeset, for eyes and for readers of screens", async () => {
    const html = await drawn("x^2", true);
    expect(html).toContain("katex-display");
    expect(html).toContain("<math");
  });

  test("that cannot be read is shown as it was written", async () => {
    expect(await drawn("\\frac{<")).toBe("\\frac{&lt;");
    expect(await drawn("x".repeat(9_000))).toBe("x".repeat(9_000));
  });

  test("is drawn in its place, with its styles where they count", async () => {
    const host = document.createElement("div");
    const root = host.attachShadow({ mode: "open" });
    const places = [place("x"), place("y", true)];
    root.append(...places);
    await Promise.all(places.map(drawMath));
    expect(places[0]?.querySelector(".katex")).not.toBeNull();
    expect(places[1]?.querySelector(".katex-display")).not.toBeNull();
    expect(root.querySelectorAll("link[rel=stylesheet]")).toHaveLength(1);
    expect(document.head.querySelectorAll("link[rel=stylesheet]")).toHaveLength(1);
  });

  test("that grows without end is stopped", async () => {
    expect(await drawn("\\def\\a{\\a\\a}\\a")).toBe("\\def\\a{\\a\\a}\\a");
    expect(await drawn("\\rule{9999em}{9999em}")).not.toContain("9999em;");
  });
});
