import { describe, expect, it } from "vitest";
import { branch, leafUnder, siblings } from "../../src/core/tree.js";

const NODES = new Map(
  [
    { id: "q1", parent_id: null, created_at: 1 },
    { id: "a1", parent_id: "q1", created_at: 2 },
    { id: "q2", parent_id: "a1", created_at: 3 },
    { id: "a2", parent_id: "q2", created_at: 4 },
    { id: "a1b", parent_id: "q1", created_at: 5 },
    { id: "q1b", parent_id: null, created_at: 6 },
  ].map((one) => [one.id, one]),
);
const ids = (nodes: readonly { id: string }[]): string[] => nodes.map((one) => one.id);

describe("the tree of messages", () => {
  it("shows the branch that ends in the leaf", () => {
    expect(ids(branch(NODES, "a2"))).toEqual(["q1", "a1", "q2", "a2"]);
    expect(ids(branch(NODES, "a1b"))).toEqual(["q1", "a1b"]);
  });

  it("shows the newest where the leaf is not known", () => {
    expect(ids(branch(NODES, null))).toEqual(["q1b"]);
    expect(ids(branch(NODES, "gone"))).toEqual(["q1b"]);
    expect(branch(new Map(), null)).toEqual([]);
  });

  it("knows siblings, also at the root", () => {
    expect(ids(siblings(NODES, { id: "a1b", parent_id: "q1", created_at: 5 }))).toEqual(["a1", "a1b"]);
    expect(ids(siblings(NODES, { id: "q1", parent_id: null, created_at: 1 }))).toEqual(["q1", "q1b"]);
  });

  it("finds the newest end below a message", () => {
    expect(leafUnder(NODES, "q1")).toBe("a1b");
    expect(leafUnder(NODES, "a1")).toBe("a2");
  });

  it("does not hang on a circle", () => {
    const circle = new Map([
      ["x", { id: "x", parent_id: "y", created_at: 1 }],
      ["y", { id: "y", parent_id: "x", created_at: 2 }],
    ]);
    expect(branch(circle, "x")).toHaveLength(2);
  });
});
