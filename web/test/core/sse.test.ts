import { describe, expect, it } from "vitest";
import { SSEReader, type SSEEvent } from "../../src/core/sse.js";

const STREAM = [
  'id: 1.1\ndata: {"type":"a"}\n\n',
  ": a comment\n\n",
  "id: 2.1\r\ndata: one\r\ndata: two\r\n\r\n",
  "id: 3.1\rdata: [DONE]\r\r",
  "data:no space\nunknown: x\n\n",
  "id: 4.1\ndata: broken off",
].join("");

const EVENTS: SSEEvent[] = [
  { id: "1.1", data: '{"type":"a"}' },
  { id: "2.1", data: "one\ntwo" },
  { id: "3.1", data: "[DONE]" },
  { id: "3.1", data: "no space" },
];

function read(pieces: Iterable<string>): SSEEvent[] {
  const reader = new SSEReader();
  return [...pieces].flatMap((piece) => reader.feed(piece));
}

describe("SSEReader", () => {
  it("reads a stream that comes at once", () => {
    expect(read([STREAM])).toEqual(EVENTS);
  });

  it("gives the same events for any two cuts", () => {
    for (let first = 0; first <= STREAM.length; first += 1) {
      for (let second = first; second <= STREAM.length; second += 3) {
        const pieces = [STREAM.slice(0, first), STREAM.slice(first, second), STREAM.slice(second)];
        expect(read(pieces)).toEqual(EVENTS);
      }
    }
  });

  it("gives the same events character by character", () => {
    expect(read(STREAM)).toEqual(EVENTS);
  });
});
