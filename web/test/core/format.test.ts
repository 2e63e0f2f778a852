import { describe, expect, it } from "vitest";
import { t } from "../../src/languages/language.js";
import { day, dollars, duration, elapsed, sentence, shownBriefly, shownValue } from "../../src/core/format.js";

describe("numbers and values as people read them", () => {
  it.each([
    [2, "2 ms"],
    [240, "0.2 s"],
    [960, "1 s"],
    [12_400, "12 s"],
    [59_600, "1 min 0 s"],
    [3_700_000, "1 h 1 min"],
  ])("%i ms is %s", (ms, text) => expect(duration(ms)).toBe(text));

  it.each([
    ["no key for OpenAI: set OPENAI_API_KEY", "No key for OpenAI: set OPENAI_API_KEY."],
    ["delete_file is not known", "delete_file is not known."],
    ["openai:gpt-5 is not served", "openai:gpt-5 is not served."],
    ["Already a sentence.", "Already a sentence."],
    ["", ""],
  ])("%s is a sentence", (told, shown) => expect(sentence(told)).toBe(shown));

  it("counts seconds up from nothing", () => {
    expect([0, 999, 1_000, 61_000].map(elapsed)).toEqual(["0 s", "0 s", "1 s", "1 min 1 s"]);
    expect(elapsed(-5_000)).toBe("0 s");
  });

  it("counts things", () => {
    expect([t.tokens(1), t.tokens(1_204)]).toEqual(["1 token", "1,204 tokens"]);
  });

  it.each([
    [0.0004, "$0.0004"],
    [0.5, "$0.5"],
    [1.254, "$1.25"],
    [0, "$0"],
  ])("%f dollars are %s", (amount, text) => expect(dollars(amount)).toBe(text));

  it("shows values", () => {
    expect(shownValue({ a: 1 })).toBe('{\n  "a": 1\n}');
    expect(shownValue(null)).toBe("");
    expect(shownBriefly({ expression: "12*34", n: 2 })).toBe("12*34, 2");
    expect(shownBriefly("x".repeat(100), 10)).toBe("xxxxxxxxx…");
    expect(shownBriefly(["a", { b: 1 }])).toBe('a, {"b":1}');
  });

  it("names days", () => {
    const noon = new Date(2026, 10, 15, 12).getTime();
    const hour = 3_600_000;
    expect([0, 13, 40, 100, 1_000].map((hours) => day(noon - hours * hour, noon))).toEqual([
      "Today", "Yesterday", "This week", "This week", "Earlier",
    ]);
  });
});
