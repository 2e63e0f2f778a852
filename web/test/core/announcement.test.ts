import { describe, expect, it } from "vitest";
import { announceCalls, announceEnd } from "../../src/core/announcement.js";
import type { EndFrame, Frame } from "../../src/core/frame.js";

describe("announcements to screen readers", () => {
  it("name the tools that are called now, not those of a replay", () => {
    const frames = [
      { type: "tool_call_started", name: "look_up", created_at: Date.now() },
      { type: "tool_call_started", name: "old", created_at: Date.now() - 60_000 },
      { type: "text_delta", created_at: Date.now() },
    ] as unknown as Frame[];
    expect(announceCalls(frames)).toEqual(["Using look_up."]);
  });

  it("say how an answer ended", () => {
    const end = (frame: object): string => announceEnd(frame as EndFrame);
    expect(end({ type: "message_final" })).toBe("Answer complete.");
    expect(end({ type: "message_cancelled" })).toContain("Stopped");
    expect(end({ type: "message_error", message: "too long" })).toBe("The answer ended early: too long");
  });
});
