// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { BlockCache } from "../../src/core/block-cache.js";
import { StreamingBus } from "../../src/core/bus.js";
import { EventDraft, ReasoningDraft, TextDraft } from "../../src/core/draft.js";
import type { MessageEvent } from "../../src/core/event.js";
import type { Frame } from "../../src/core/frame.js";
import { draftView, eventView, type Group } from "../../src/core/view.js";

const at = { event_id: "e" };
const FRAMES = [
  { type: "message_started", ...at, run_id: "r", created_at: 5 },
  { type: "reasoning_part_started", ...at, segment_id: "e-0", summary_index: 0, sequence_number: 0, created_at: 6 },
  { type: "reasoning_part_delta", ...at, segment_id: "e-0", summary_index: 0, text_delta: "**Plan**\n\nFirst " },
  { type: "reasoning_part_delta", ...at, segment_id: "e-0", summary_index: 0, text_delta: "this." },
  { type: "reasoning_part_completed", ...at, segment_id: "e-0", summary_index: 0, is_complete: true },
  { type: "reasoning_part_started", ...at, segment_id: "e-0", summary_index: 1, sequence_number: 1, created_at: 7 },
  { type: "reasoning_part_delta", ...at, segment_id: "e-0", summary_index: 1, text_delta: "Then that." },
  { type: "reasoning_part_completed", ...at, segment_id: "e-0", summary_index: 1, is_complete: true },
  { type: "reasoning_segment_meta", ...at, segment_id: "e-0", duration_ms: 1200 },
  { type: "status", ...at, text: "Calculating", source: "tool", created_at: 8 },
  { type: "tool_call_started", ...at, call_id: "c", name: "calculator", args_preview: "", sequence_number: 1, created_at: 8, segment_id: "e-1" },
  { type: "tool_call_update", ...at, call_id: "c", status: "writing", args_delta: '{"x":' },
  { type: "tool_call_update", ...at, call_id: "c", status: "writing", args_delta: "1}" },
  { type: "tool_call_update", ...at, call_id: "c", status: "ready", args: { x: 1 } },
  { type: "tool_call_update", ...at, call_id: "c", status: "running", progress: 0.5, logs_delta: "half\n" },
  { type: "tool_result", ...at, call_id: "c", result: "1", duration_ms: 20 },
  { type: "web_search_call_started", ...at, call_id: "w", name: "web_search", args_preview: "", sequence_number: 2, created_at: 9, segment_id: "e-2" },
  { type: "web_search_call_result", ...at, call_id: "w", result: null, error: "no network" },
  { type: "segment_added", ...at, segment: { type: "text", id: "e-3", text: "" } },
  { type: "text_delta", ...at, text_delta: "It is **1" },
  { type: "a_type_of_the_future", ...at, text_delta: "?" },
  { type: "text_delta", ...at, text_delta: "**.\n\nDone." },
] as unknown as Frame[];

const EVENT = {
  id: "e", role: "assistant", run_id: "r", created_at: 5, usage: null,
  segments: [
    {
      type: "reasoning", id: "e-0", sequence_number: 0, duration_ms: 1200,
      parts: [
        { text: "Then that.", type: "summary_text", created_at: 7, is_complete: true, summary_index: 1, sequence_number: 1 },
        { text: "**Plan**\n\nFirst this.", type: "summary_text", created_at: 6, is_complete: true, summary_index: 0, sequence_number: 0 },
      ],
    },
    { type: "tool_call", id: "e-1", call_id: "c", name: "calculator", args: { x: 1 }, result: "1", status: "completed", sequence_number: 1, duration_ms: 20 },
    { type: "web_search_call", id: "e-2", call_id: "w", name: "web_search", args: null, result: null, status: "failed", error: "no network", sequence_number: 2 },
    { type: "text", id: "e-3", text: "It is **1**.\n\nDone." },
  ],
} as unknown as MessageEvent;

function fed(frames: readonly Frame[]): EventDraft {
  const draft = new EventDraft("e", 0);
  for (const frame of frames) draft.feed(frame);
  return draft;
}

/** Shuffle frames so that those of one segment keep their order. */
function shuffled(frames: readonly Frame[], chance: () => number): Frame[] {
  const queues = new Map<string, Frame[]>();
  for (const frame of frames) {
    const { segment_id, call_id } = frame as { segment_id?: string; call_id?: string };
    const calls: Record<string, string> = { c: "e-1", w: "e-2" };
    const key = segment_id ?? calls[call_id ?? ""] ?? "text";
    queues.set(key, [...(queues.get(key) ?? []), frame]);
  }
  const mixed: Frame[] = [];
  while (queues.size > 0) {
    const keys = [...queues.keys()];
    const key = keys[Math.floor(chance() * keys.length)]!;
    const [first, ...rest] = queues.get(key)!;
    mixed.push(first!);
    if (rest.length > 0) queues.set(key, rest);
    else queues.delete(key);
  }
  return mixed;
}

/** A fixed sequence of pseudo-random numbers. */
function chances(seed: number): () => number {
  return () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
}

/** What both views must share: content and order. */
function content(groups: readonly Group[]): unknown {
  return groups.map((group) => ({
    steps: group.steps.map((step) =>
      step.kind === "reasoning"
        ? step.parts.map((part) => part.blocks.map((block) => block.html).join("") + part.tail)
        : step.kind === "tool"
          ? [step.type, step.name, step.args || null, step.result, step.error, step.state, step.durationMs]
          : step,
    ),
    content: group.content?.kind === "text" ? group.content.blocks.map((block) => block.html) : group.content,
  }));
}

describe("EventDraft", () => {
  it("replaces a text and a reasoning part that had a gap", () => {
    const draft = fed([
      ...FRAMES,
      { type: "part_restored", ...at, segment_id: "e-3", text: "It is *not* 1." },
      { type: "part_restored", ...at, segment_id: "e-0", summary_index: 1, text: "Then this." },
      { type: "part_restored", ...at, segment_id: "unknown", text: "?" },
      { type: "text_delta", ...at, text_delta: " Truly." },
    ] as unknown as Frame[]);
    const [reasoning, text] = [draft.segments[0], draft.segments.at(-1)];
    expect(text instanceof TextDraft && text.text).toBe("It is *not* 1. Truly.");
    expect(reasoning instanceof ReasoningDraft && reasoning.entries.map((one) => one.text)).toEqual([
      "**Plan**\n\nFirst this.",
      "Then this.",
    ]);
  });

  it("shows what the stored event shows, in the same order", () => {
    const draft = fed(FRAMES);
    for (const one of draft.segments) if (one instanceof TextDraft) one.markdown.close();
    expect(content(draftView(draft))).toEqual(content(eventView(EVENT, new BlockCache())));
  });

  it("keeps reasoning by segment and part, and marks parts that are whole", () => {
    const draft = fed(FRAMES.slice(0, 7));
    const [reasoning] = draft.segments;
    expect(reasoning).toBeInstanceOf(ReasoningDraft);
    expect((reasoning as ReasoningDraft).entries.map((one) => [one.text, one.isComplete])).toEqual([
      ["**Plan**\n\nFirst this.", true],
      ["Then that.", false],
    ]);
  });

  it("takes any frames in any order without breaking", () => {
    for (let skipped = 0; skipped < FRAMES.length; skipped += 1) {
      fed(FRAMES.filter((_frame, place) => place !== skipped));
      fed([...FRAMES].reverse());
      fed(FRAMES.slice(skipped));
    }
  });

  it("forgets the segments of a step that was taken back", () => {
    const draft = fed(FRAMES);
    draft.feed({ type: "step_discarded", segment_ids: ["e-3"], unanswered_ids: ["e-1"] } as unknown as Frame);
    expect(draft.segments.map((one) => one.id)).toEqual(["e-0", "e-1", "e-2"]);
    expect(draftView(draft)[0]?.steps[1]).toMatchObject({ state: "running", result: null });
  });
});

describe("StreamingBus", () => {
  it("tells watchers once for a read, and is empty when an event is over", () => {
    const bus = new StreamingBus();
    let told = 0;
    const stop = bus.watch("e", () => (told += 1));
    bus.open("e", 0);
    bus.feed("e", FRAMES);
    expect(told).toBe(1);
    bus.clear("e");
    expect([told, bus.size, bus.draft("e")]).toEqual([2, 0, undefined]);
    stop();
    bus.open("e", 0);
    bus.feed("e", FRAMES);
    expect(told).toBe(2);
  });
});

describe("BlockCache", () => {
  it("gives back the very blocks that were streamed, and others for another text", () => {
    const cache = new BlockCache();
    const draft = fed(FRAMES).segments.find((one) => one instanceof TextDraft) as TextDraft;
    cache.keep("e-3", draft.text, draft.markdown);
    expect(cache.blocks("e-3", draft.text)[0]).toBe(draft.markdown.settled[0]);
    expect(cache.blocks("e-3", "other")[0]?.html).toContain("other");
  });
});

describe("part_restored", () => {
  it("replaces the text of a segment and of a reasoning part", () => {
    const draft = fed(FRAMES);
    draft.feed({ type: "part_restored", segment_id: "e-3", text: "It is **2**." });
    draft.feed({ type: "part_restored", segment_id: "e-0", summary_index: 1, text: "Then this." });
    const [reasoning, text] = [draft.segments[0] as ReasoningDraft, draft.segments.at(-1) as TextDraft];
    expect(reasoning.entries.map((one) => one.text)).toEqual(["**Plan**\n\nFirst this.", "Then this."]);
    expect([text.text, text.markdown.tail]).toEqual(["It is **2**.", "<p>It is <strong>2</strong>.</p>\n"]);
  });
});

describe("sequence_number", () => {
  it("orders segments, whatever order the frames arrive in", () => {
    const numbered = FRAMES.map((frame) => (frame.type === "segment_added" ? { ...frame, sequence_number: 3 } : frame));
    const expected = content(draftView(fed(numbered)));
    for (let seed = 1; seed <= 50; seed += 1) {
      expect(content(draftView(fed(shuffled(numbered, chances(seed)))))).toEqual(expected);
    }
  });

  it("orders the segments of a stored event", () => {
    const [first, second, third, text] = EVENT.segments;
    const mixed = { ...EVENT, segments: [third!, first!, second!, text!] };
    expect(content(eventView(mixed, new BlockCache()))).toEqual(content(eventView(EVENT, new BlockCache())));
  });
});

describe("input", () => {
  const asked = { request_id: "q", kind: "approval", call_id: "c", name: "calculator", created_at: 10 };
  const during = [
    ...FRAMES.slice(0, 15),
    { type: "input_requested", ...at, run_id: "r", ...asked },
  ] as unknown as Frame[];
  const answered = { type: "input_answered", ...at, request_id: "q", decision: "denied", reason: "no" } as unknown as Frame;

  it("puts a request behind its call, and nothing below it while it is open", () => {
    const draft = fed(during);
    expect(draft.runId).toBe("r");
    const groups = draftView(draft);
    expect(groups).toHaveLength(1);
    expect(groups[0]?.steps.map((one) => one.kind)).toEqual(["reasoning", "tool"]);
    expect(groups[0]?.content).toMatchObject({ kind: "request", id: "q" });
  });

  it("goes on after an answer", () => {
    const groups = draftView(fed([...during, answered]));
    expect(groups[0]?.content).toMatchObject({ request: { ...asked, decision: "denied", reason: "no" } });
    expect(groups[1]).toEqual({ steps: [], content: null });
  });

  it("drops the request of a discarded call", () => {
    const discarded = { type: "step_discarded", ...at, segment_ids: ["e-1"], reason: "x" } as unknown as Frame;
    expect(fed([...during, discarded]).requests.size).toBe(0);
  });

  it("is the same in the stored event, with what the user has added", () => {
    const added = { type: "user_message_added", ...at, segment_id: "e-user-0", text: "Hurry.", sequence_number: 2, created_at: 11 };
    const live = draftView(fed([...during, answered, added as unknown as Frame]));
    const tool = { type: "tool_call", id: "e-1", call_id: "c", name: "calculator", args: {}, result: null, status: "incomplete", sequence_number: 1, created_at: 8 };
    const said = { type: "user_message", id: "e-user-0", text: "Hurry.", sequence_number: 2, created_at: 11 };
    const requests = [{ ...asked, decision: "denied", reason: "no" }];
    const event = { ...EVENT, segments: [EVENT.segments[0], tool, said], requests } as unknown as MessageEvent;
    const kinds = (groups: readonly Group[]): unknown[] => groups.map((one) => [one.content?.kind, one.content?.id]);
    expect(kinds(eventView(event, new BlockCache()))).toEqual([["request", "q"], ["said", "e-user-0"]]);
    expect(kinds(live).slice(0, 2)).toEqual(kinds(eventView(event, new BlockCache())));
  });

  it("shows what a sub-agent does in the row of its call, and replaces a discarded step", () => {
    const started = { type: "tool_call_started", event_id: "e", call_id: "c1", segment_id: "e-0", name: "research", sequence_number: 0, created_at: 5 };
    const inner = (frame: object): Frame => ({ type: "nested_frame", event_id: "e", parent_call_id: "c1", frame }) as unknown as Frame;
    const said = (id: string, text: string) => [
      inner({ type: "segment_added", segment: { type: "text", id, text: "" }, sequence_number: 0 }),
      inner({ type: "text_delta", text_delta: text }),
    ];
    const draft = fed([started as unknown as Frame, inner({ type: "message_started", event_id: "e-0", created_at: 6 }), ...said("a", "wrong")]);
    const nested = () => (draftView(draft)[0]?.steps[0] as { nested: readonly { content: { id: string } | null }[] }).nested;
    expect(nested().map((group) => group.content?.id)).toEqual(["a"]);
    draft.feed(inner({ type: "step_discarded", segment_ids: ["a"] }));
    for (const frame of said("b", "right")) draft.feed(frame);
    expect(nested().map((group) => group.content?.id)).toEqual(["b"]);
    expect(draft.chars).toBe("wrong".length + "right".length);
    const event = { ...EVENT, id: "e-0", segments: [{ type: "text", id: "c", text: "stored" }] };
    draft.feed({ type: "tool_result", event_id: "e", call_id: "c1", result: "right", event } as unknown as Frame);
    expect(nested().map((group) => group.content?.id)).toEqual(["c"]);
  });
});
