import { describe, expect, it } from "vitest";
import type { Conversation, WholeConversation } from "../../src/core/api.js";
import type { MessageEvent } from "../../src/core/event.js";
import { Store } from "../../src/core/store.js";

const CONVERSATION: Conversation = { id: "c", title: "t", created_ms: 1, updated_ms: 1, leaf_id: "a" };
const WHOLE: WholeConversation = {
  conversation: CONVERSATION,
  messages: [
    { id: "q", parent_id: null, role: "user", created_at: 1, text: "?" },
    { id: "a", parent_id: "q", role: "assistant", created_at: 2 },
  ],
  live: [],
};
const QUESTION = { id: "q2", parent_id: "a", role: "user", created_at: 3, text: "!" };
const LIVE = { event_id: "e", parent_id: "q2", created_at: 4 };
const event = (id: string): MessageEvent => ({ id, role: "assistant", created_at: 4 }) as MessageEvent;
const shown = (store: Store): string[] => store.branch.map((one) => one.id);

describe("Store", () => {
  it("is written once for an answer, and only for one that was begun", () => {
    const store = new Store();
    store.show(WHOLE);
    store.begin(CONVERSATION, QUESTION, LIVE);
    expect([store.writes, shown(store), store.liveBelow?.event_id]).toEqual([0, ["q", "a", "q2"], "e"]);
    store.commit(event("e"));
    store.commit(event("e"));
    store.commit(event("other"));
    expect([store.writes, shown(store), store.liveBelow]).toEqual([1, ["q", "a", "q2", "e"], undefined]);
  });

  it("keeps an answer that began while the server was asked", () => {
    const store = new Store();
    store.show(WHOLE);
    store.begin(CONVERSATION, QUESTION, LIVE);
    store.show(WHOLE, (id) => id === "e");
    expect([shown(store), store.liveBelow?.event_id]).toEqual([["q", "a", "q2"], "e"]);
    store.show(WHOLE, () => false);
    expect([shown(store), store.liveBelow]).toEqual([["q", "a"], undefined]);
  });

  it("does not show an answer twice that ended while the server was asked", () => {
    const store = new Store();
    store.show({ ...WHOLE, live: [{ event_id: "a", parent_id: "q", created_at: 2 }] });
    expect(store.open?.live.size).toBe(0);
  });

  it("leaves a reader on the branch to which they turned meanwhile", () => {
    const store = new Store();
    store.show(WHOLE);
    store.begin(CONVERSATION, QUESTION, LIVE);
    if (store.open) store.open.leafId = "a";
    store.commit(event("e"));
    expect(shown(store)).toEqual(["q", "a"]);
  });
});
