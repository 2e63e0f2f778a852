// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { API } from "../../src/core/api.js";
import { StreamingBus } from "../../src/core/bus.js";
import { TextDraft } from "../../src/core/draft.js";
import type { EndFrame } from "../../src/core/frame.js";
import { readPause, StreamingSessionManager } from "../../src/core/session.js";

const WORDS = Array.from({ length: 12 }, (_none, number) => `word${number} `);
const FRAMES = [
  { type: "message_started", event_id: "e", created_at: 1 },
  { type: "segment_added", event_id: "e", segment: { type: "text", id: "e-0", text: "" } },
  ...WORDS.map((text_delta) => ({ type: "text_delta", event_id: "e", text_delta })),
  { type: "message_final", event: { id: "e", role: "assistant", segments: [], usage: null, created_at: 1, run_id: null } },
];
const WHOLE = FRAMES.map((frame, place) => `id: ${place + 1}.1\ndata: ${JSON.stringify(frame)}\n\n`);

/** A server that breaks off each connection after some bytes; it sends what is behind the id. */
function server(cuts: number[]): { asked: string[] } {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (_url: URL, options: RequestInit) => {
    const after = new Headers(options.headers).get("last-event-id") ?? "";
    asked.push(after);
    const seen = after === "" ? 0 : Number(after.split(".")[0]);
    const bytes = new TextEncoder().encode(WHOLE.slice(seen).join(""));
    const cut = cuts.shift() ?? bytes.length;
    let isSent = false;
    return new Response(
      new ReadableStream({
        // An error drops what is queued, so it comes with the second read.
        pull(controller) {
          if (isSent && cut < bytes.length) controller.error(new TypeError("network"));
          else if (isSent) controller.close();
          else controller.enqueue(bytes.slice(0, Math.max(1, cut)));
          isSent = true;
        },
      }),
    );
  });
  return { asked };
}

async function watched(bus: StreamingBus): Promise<{ text: string; end: EndFrame }> {
  let text = "";
  const end = await new Promise<EndFrame>((resolve, reject) => {
    const manager = new StreamingSessionManager(new API(""), bus, {
      took: () => undefined,
      ended: (_id, frame) => {
        const draft = bus.draft("e")?.segments[0];
        text = draft instanceof TextDraft ? draft.text : "";
        resolve(frame);
      },
      lost: () => reject(new Error("lost")),
      connection: () => undefined,
    });
    manager.watch("e", 0);
  });
  return { text, end };
}

describe("StreamingSessionManager", () => {
  const real = globalThis.setTimeout;
  // Nobody waits for a second try here.
  beforeEach(() => void vi.stubGlobal("setTimeout", (work: () => void) => real(work, 1)));
  afterEach(() => void vi.unstubAllGlobals());

  it("goes on behind the last whole frame, wherever a connection breaks", async () => {
    const length = WHOLE.join("").length;
    for (let cut = 0; cut < length; cut += 61) {
      server([cut, 50, 1]);
      const bus = new StreamingBus();
      const { text, end } = await watched(bus);
      expect(text).toBe(WORDS.join(""));
      expect(end.type).toBe("message_final");
      expect(bus.size).toBe(0);
    }
  });

  it("asks with the id of the last frame", async () => {
    const { asked } = server([WHOLE.slice(0, 4).join("").length + 5]);
    await watched(new StreamingBus());
    expect(asked).toEqual(["", "4.1"]);
  });

  it("pauses between small reads, and not while more is waiting", async () => {
    const paused: unknown[] = [];
    vi.stubGlobal("setTimeout", (work: () => void, ms: number) => (paused.push(ms), real(work, 1)));
    const pieces = (comment: string): void => {
      const all = [...WHOLE.slice(0, 3), ...WHOLE.slice(-1)].map((event) => new TextEncoder().encode(comment + event));
      const body = new ReadableStream({ pull: (controller) => controller.enqueue(all.shift()!) }, { highWaterMark: 0 });
      vi.stubGlobal("fetch", async () => new Response(body));
    };
    pieces("");
    await watched(new StreamingBus());
    expect(paused).toHaveLength(WHOLE.slice(0, 3).length + 1);
    paused.length = 0;
    pieces(`: ${"x".repeat(70_000)}\n`);
    await watched(new StreamingBus());
    expect(paused).toEqual([]);
  });

  it("pauses for longer the faster text arrives, and draws at least six times a second", () => {
    const pauses = [0, 100, 1_000, 2_000, 4_000, 16_000, Infinity].map((charsAS) => readPause(charsAS / 1_000));
    expect(pauses).toEqual([33, 33, 33, 66, 132, 150, 150]);
  });

  it("gives up where a stream is over and never said how", async () => {
    vi.stubGlobal("fetch", async () => new Response(""));
    await expect(watched(new StreamingBus())).rejects.toThrow("lost");
  });

  it("gives up where the stream is no longer kept", async () => {
    vi.stubGlobal("fetch", async () => new Response("{}", { status: 410 }));
    await expect(watched(new StreamingBus())).rejects.toThrow("lost");
  });
});
