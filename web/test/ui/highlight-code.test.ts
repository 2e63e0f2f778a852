// @vitest-environment jsdom
import { expect, test, vi } from "vitest";

/** jsdom has no sheets that are created by scripts. */
class Sheet {
  replaceSync(): void {}
}

test("every chat of a page gets the style rules of its code, also if the code is colored before it is in the page", async () => {
  vi.stubGlobal("CSSStyleSheet", Sheet);
  const { makeHighlighter } = await import("../../src/ui/highlight-code.js");
  const highlighter = await makeHighlighter();
  for (let chat = 0; chat < 2; chat += 1) {
    const root = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
    const sheets: Sheet[] = [];
    Object.defineProperty(root, "adoptedStyleSheets", { value: sheets });
    const code = document.createElement("code");
    highlighter.color(code, "let x = 1", "ts");
    root.append(code);
    await Promise.resolve();
    expect(code.querySelector(".hljs-keyword")?.textContent).toBe("let");
    expect(sheets).toHaveLength(1);
  }
});
