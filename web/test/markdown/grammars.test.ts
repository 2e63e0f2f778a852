/** The grammars of code, which are made when they are needed. */

import { readdirSync } from "node:fs";
import hljs from "highlight.js/lib/core";
import { expect, test, vi } from "vitest";

const LANGUAGES =
  "bash c cpp csharp css diff dockerfile go haskell ini java javascript json kotlin lua makefile php python r ruby rust sql " +
  "swift typescript xml yaml";
const names = LANGUAGES.split(" ");

async function fresh(): Promise<(language: string) => boolean> {
  for (const name of names) hljs.unregisterLanguage(name);
  vi.resetModules();
  return (await import("../../src/markdown/grammars.js")).hasGrammar;
}

test("only the grammars that are needed are made", async () => {
  const hasGrammar = await fresh();
  expect(hasGrammar("py")).toBe(true);
  expect(hasGrammar("nonsense")).toBe(false);
  expect(hasGrammar("constructor")).toBe(false);
  expect(hljs.listLanguages()).toEqual(["python"]);
});

test("every other name of a language is known", async () => {
  const hasGrammar = await fresh();
  for (const name of names) {
    expect(hasGrammar(name)).toBe(true);
    for (const alias of hljs.getLanguage(name)?.aliases ?? []) {
      expect(hasGrammar(alias), alias).toBe(true);
      expect(hljs.getLanguage(alias)).toBe(hljs.getLanguage(name));
    }
  }
});

test("the languages inside of a language are made with it", async () => {
  const available = readdirSync("node_modules/highlight.js/lib/languages");
  for (const name of names) {
    const hasGrammar = await fresh();
    hasGrammar(name);
    for (const inner of innerLanguages(hljs.getLanguage(name))) {
      if (!names.includes(inner)) expect(available, "not one that we could have made").toContain(`${inner}.js`);
      else expect(hljs.getLanguage(inner), `${inner} in ${name}`).toBeDefined();
    }
  }
});

function innerLanguages(value: unknown, seen = new Set<unknown>()): Set<string> {
  if (typeof value !== "object" || value === null || seen.has(value)) return new Set();
  seen.add(value);
  const inner = (value as { subLanguage?: string | string[] }).subLanguage ?? [];
  return new Set([inner].flat().concat(Object.values(value).flatMap((one) => [...innerLanguages(one, seen)])));
}
