import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { en } from "../../src/languages/en.js";
import { languageFor, t, useLanguage } from "../../src/languages/language.js";
import { zh } from "../../src/languages/zh.js";

const SOURCES = new URL("../../src/", import.meta.url);

/** Paths of all messages, with the kind of each. */
function shape(value: unknown, path = ""): string[] {
  if (typeof value === "function") return [`${path}(${value.length})`];
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, one]) => shape(one, `${path}.${name}`));
}

/** All texts without the Latin words that are the same in every language. */
function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(texts);
}

function sources(): string {
  const files = readdirSync(SOURCES, { recursive: true, withFileTypes: true });
  const own = files.filter((file) => file.isFile() && file.name.endsWith(".ts") && !file.parentPath.endsWith("languages"));
  return own.map((file) => readFileSync(`${file.parentPath}/${file.name}`, "utf8")).join("\n");
}

describe("languages", () => {
  it("has every message in Chinese", () => {
    expect(shape(zh)).toEqual(shape(en));
    expect(texts(zh).filter((one) => one === "" )).toHaveLength(texts(en).filter((one) => one === "").length);
  });

  it("leaves nothing in English that is a sentence", () => {
    const kept = new Set([...texts(zh.rehearsalCards)]);
    const english = texts(zh).filter((one) => /[a-z]+ [a-z]+ [a-z]+/i.test(one) && !kept.has(one));
    expect(english).toEqual([]);
  });

  it("has no message that nothing shows", () => {
    const code = sources();
    const unused = Object.keys(en).filter((name) => !new RegExp(`\\bt\\.${name}\\b`).test(code) && !code.includes(`names.${name}`));
    expect(unused).toEqual([]);
  });

  it("leaves no words of the page in the code", () => {
    const labels = [...sources().matchAll(/(?:aria-label|title|placeholder|alt)="([A-Z][a-z]+[^"]*)"/g)].map((match) => match[1]);
    expect(labels.filter((one) => one !== "Ctrl+Enter")).toEqual([]);
  });

  it.each([
    [undefined, ["zh-CN", "en"], "zh"],
    ["auto", ["en-GB", "zh"], "en"],
    ["auto", ["fr", "zh-TW"], "zh"],
    ["auto", ["fr"], "en"],
    ["en", ["zh"], "en"],
    ["zh", ["en"], "zh"],
  ])("shows %s to readers of %j in %s", (choice, preferred, name) => {
    expect(languageFor(choice, preferred)).toBe(name);
  });

  it("switches, and back", async () => {
    expect(await useLanguage("zh")).toBe(true);
    expect(t.send).toBe("发送");
    expect(t.tokens(1_204)).toBe("1,204 个词元");
    expect(await useLanguage("zh")).toBe(false);
    expect(await useLanguage("en")).toBe(true);
    expect(t.send).toBe("Send");
  });
});
