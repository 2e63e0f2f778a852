// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from "vitest";
import type { MessageEvent } from "../../src/core/event.js";
import { Queue } from "../../src/core/queue.js";

type Asker = Queue["chat"];

/** A page whose model writes the answer `e`, and has read these texts of the user. */
function queue(userTexts: string[]): Queue {
  const chat = {
    store: { open: { conversation: { id: "c" } }, liveBelow: { event_id: "e", parent_id: "p" } },
    bus: { draft: () => ({ userTexts }) },
    sessions: { hurry: () => undefined },
    api: { ask: async () => ({ eventId: "e", response: new Response() }) },
    announce: () => undefined,
    changed: () => undefined,
  };
  return new Queue(chat as unknown as Asker);
}

async function say(one: Queue, text: string): Promise<void> {
  one.add(text);
  await one.sendNow(one.list.at(-1)?.id ?? "");
}

function texts(list: readonly { text: string }[]): string[] {
  return list.map((one) => one.text);
}

/** An answer that broke off after the model had read these texts. */
function broken(...read: string[]): MessageEvent {
  return { id: "e", error: {}, segments: read.map((text) => ({ type: "user_message", text })) } as unknown as MessageEvent;
}

describe("what is said to an answer", () => {
  beforeEach(() => sessionStorage.clear());

  it("is shown until the model has read it", async () => {
    const read: string[] = [];
    const one = queue(read);
    await say(one, "shorter");
    await say(one, "in verse");
    expect(texts(one.said)).toEqual(["shorter", "in verse"]);
    read.push("shorter");
    expect(texts(one.said)).toEqual(["in verse"]);
  });

  it("is read as often as it was said", async () => {
    const read: string[] = [];
    const one = queue(read);
    await say(one, "shorter");
    read.push("shorter");
    await say(one, "shorter");
    expect(texts(one.said)).toEqual(["shorter"]);
  });

  it("comes back if the answer breaks off before the model has read it", async () => {
    const one = queue([]);
    for (const text of ["shorter", "shorter", "in verse"]) await say(one, text);
    one.next(broken("shorter"));
    expect(texts(one.list)).toEqual(["shorter", "in verse"]);
    expect(one.said).toEqual([]);
  });
});
