import { describe, expect, it } from "vitest";
import { adviceOf } from "../../src/core/advice.js";
import type { MessageEvent } from "../../src/core/event.js";

const event = (more: object): MessageEvent =>
  ({ id: "e", role: "assistant", run_id: null, created_at: 0, segments: [], usage: null, ...more }) as MessageEvent;

describe("adviceOf", () => {
  it("says nothing of an answer that ended by itself", () => {
    expect(adviceOf(event({ finish: { word: "end_turn" } }), false)).toBeNull();
    expect(adviceOf(event({}), false)).toBeNull();
  });

  it.each(["auth", "rate_limit", "network", "interrupted", "a category of the future"])("tells what to do about %s", (category) => {
    const advice = adviceOf(event({ error: { category, message: "m" } }), false);
    expect(advice).toMatchObject({ isError: true, detail: "m" });
    expect(advice?.todo).not.toBe("");
  });

  it("does not call a stop an error", () => {
    const advice = adviceOf(event({ finish: { word: "aborted", kind: "cancelled" } }), false);
    expect(advice).toMatchObject({ isError: false, what: "You stopped this answer." });
  });

  it("warns where content is missing", () => {
    const advice = adviceOf(event({ finish: { word: "end_turn" }, warning: "2 frames" }), false);
    expect(advice).toMatchObject({ isError: false, what: "Part of the answer could not be read.", detail: "2 frames" });
  });

  it("says that an answer was not saved", () => {
    expect(adviceOf(event({ finish: { word: "end_turn" } }), true)?.isError).toBe(true);
  });
});
