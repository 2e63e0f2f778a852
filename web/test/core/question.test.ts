import { expect, test } from "vitest";
import { effortName, percent, shownBriefly } from "../../src/core/format.js";
import { titleOf } from "../../src/core/question.js";
import { flatSchema } from "../../src/ui/schema-form.js";

test.each([
  ["short", "short"],
  ["  two\n lines ", "two lines"],
  ["Which of these two very different insurance contracts is the cheaper one?", "Which of these two very different insurance contracts is the …"],
  ["x".repeat(70), `${"x".repeat(59)}…`],
])("a title is cut at a word: %s", (text, title) => expect(titleOf(text)).toBe(title));

test("efforts and shares have names", () => {
  expect(["none", "xhigh", "other"].map(effortName)).toEqual(["Off", "Very high", "other"]);
  expect([percent(0.375), percent(2), percent(-1)]).toEqual(["38 %", "100 %", "0 %"]);
});

test("an image is named in one line, and its bytes are not shown", () => {
  const image = { type: "image", media_type: "image/png", url: "data:image/png;base64,AAAA" };
  expect(shownBriefly(image)).toBe("image/png");
  expect(shownBriefly([image, 1])).toBe("image/png, 1");
});

test.each([
  [{ type: "object", properties: { a: { type: "string" } } }, true],
  [{ type: "object", properties: { a: { enum: ["x", "y"] } } }, true],
  [{ type: "object", properties: { a: { type: "array" } } }, false],
  [{ type: "object", properties: {} }, false],
  [{ type: "string" }, false],
  [null, false],
])("only flat schemas have fields: %j", (schema, isFlat) => expect(flatSchema(schema) !== null).toBe(isFlat));
