/** The streams that this page reads, each until its last frame.
 *
 * A broken connection is resumed after the last frame received. A hidden page closes its connections until it is
 * visible again. */

import { Refused, type API } from "./api.js";
import type { StreamingBus } from "./bus.js";
import { isEnd, type EndFrame, type Frame } from "./frame.js";
import { withSlot } from "./slot.js";
import { SSEReader } from "./sse.js";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8_000;
/** Pause between two reads, up to 1,000 characters a second. What was read is drawn with the next frame. */
const READ_MS = 33;
/** The pause grows with the rate, because nobody can read that fast. */
const LONGEST_READ_MS = 150;
/** A larger read means that more is waiting, as when a long answer is resumed. */
const BEHIND_BYTES = 65_536;
const EMPTY_ENDS = 2;
const HIDDEN_GRACE_MS = 1_000;
const SIP_MS = 400;
const SIP_PAUSE_MS = 1_200;

export interface SessionEvents {
  /** Frames have arrived and are on the bus. */
  took(eventId: string, frames: readonly Frame[]): void;
  /** The last frame has arrived. */
  ended(eventId: string, frame: EndFrame): void;
  /** The stream is gone; the conversation shows how it ended. */
  lost(eventId: string): void;
  /** The connection was established or lost. */
  connection(eventId: string, isUp: boolean): void;
}

export class StreamingSessionManager {
  #sessions = new Map<string, Session>();

  constructor(
    readonly api: API,
    readonly bus: StreamingBus,
    readonly events: SessionEvents,
  ) {}

  isStreaming(eventId: string): boolean {
    return this.#sessions.has(eventId);
  }

  /** Watch an answer until its end. `response` is its stream if one is open already. */
  watch(eventId: string, createdAt: number, response?: Response): void {
    if (this.#sessions.has(eventId)) {
      void response?.body?.cancel();
      return;
    }
    this.bus.open(eventId, createdAt);
    const session = new Session(eventId, this);
    this.#sessions.set(eventId, session);
    void session.run(response).finally(() => {
      if (this.#sessions.get(eventId) === session) this.#sessions.delete(eventId);
    });
  }

  /** Reconnect at once instead of waiting for the retry delay. */
  hurry(eventId: string): void {
    this.#sessions.get(eventId)?.hurry();
  }

  /** Close all connections as a lost network does; they are resumed. */
  drop(): void {
    for (const session of this.#sessions.values()) session.drop();
  }

  /** Close everything. The runs continue on the server. */
  close(): void {
    for (const [eventId, session] of this.#sessions) {
      session.close();
      this.bus.clear(eventId);
    }
    this.#sessions.clear();
  }
}

class Session {
  #lastId = "";
  #isOver = false;
  #connection = new AbortController();
  #hurry: () => void = () => undefined;

  constructor(
    readonly eventId: string,
    readonly manager: StreamingSessionManager,
  ) {}

  close(): void {
    this.#isOver = true;
    this.drop();
  }

  drop(): void {
    this.#connection.abort();
  }

  hurry(): void {
    this.#hurry();
  }

  async #pause(ms: number): Promise<void> {
    await Promise.race([pause(ms), new Promise<void>((resolve) => (this.#hurry = resolve))]);
  }

  async run(response: Response | undefined): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    let empty = 0;
    while (!this.#isOver) {
      const before = this.#lastId;
      let retryMs = 0;
      try {
        await this.#turn(response);
        // An empty stream is over, and the conversation shows how it ended; but the server also closes the stream of an
        // answer that has waited for input for some time.
        const isWaiting = this.manager.bus.draft(this.eventId)?.isWaiting ?? false;
        empty = this.#lastId === before && !this.#connection.signal.aborted && !isWaiting ? empty + 1 : 0;
        if (empty === EMPTY_ENDS && !this.#isOver) return this.#lose();
      } catch (error) {
        if (this.#isOver) return;
        if (error instanceof Refused && error.status < 500 && error.status !== 429) return this.#lose();
        // Too many streams are open: the answer goes on, and there is a connection.
        if (error instanceof Refused && error.status === 429) retryMs = error.retryAfterMs;
        else this.manager.events.connection(this.eventId, false);
      }
      response = undefined;
      if (this.#isOver) return;
      waitMs = this.#lastId !== before ? FIRST_WAIT_MS : Math.min(waitMs * 2, LONGEST_WAIT_MS);
      await this.#pause(Math.max(waitMs, retryMs));
      await shown();
    }
  }

  /** Read one connection: until it ends if a slot is free, else only for a moment. */
  async #turn(response: Response | undefined): Promise<void> {
    const got = await withSlot(() => this.#connect(response));
    if (got) return;
    await this.#connect(response, SIP_MS);
    if (!this.#isOver) await this.#pause(SIP_PAUSE_MS);
  }

  async #connect(response: Response | undefined, limitMs?: number): Promise<void> {
    if (this.#isOver) {
      void response?.body?.cancel().catch(() => undefined);
      return;
    }
    const connection = new AbortController();
    this.#connection = connection;
    const abort = (): void => {
      connection.abort();
      void response?.body?.cancel().catch(() => undefined);
    };
    const stopWatching = whenHidden(abort);
    const timer = limitMs === undefined ? undefined : setTimeout(abort, limitMs);
    try {
      const stream = response ?? (await this.manager.api.resume(this.eventId, this.#lastId, connection.signal));
      this.manager.events.connection(this.eventId, true);
      await this.#read(stream, connection.signal);
    } catch (error) {
      if (!connection.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      stopWatching();
    }
  }

  async #read(stream: Response, signal: AbortSignal): Promise<void> {
    const reader = stream.body?.getReader();
    if (!reader) return;
    signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined), { once: true });
    const decoder = new TextDecoder();
    const events = new SSEReader();
    let readAt = performance.now();
    while (!this.#isOver) {
      const { done, value } = await reader.read();
      if (done) return;
      const before = this.#chars;
      this.#take(events.feed(decoder.decode(value, { stream: true })));
      const now = performance.now();
      const charsAMs = (this.#chars - before) / Math.max(1, now - readAt);
      readAt = now;
      // Batching small reads costs a fraction of handling them one by one.
      if (value.length < BEHIND_BYTES) await new Promise((resolve) => setTimeout(resolve, readPause(charsAMs)));
    }
  }

  get #chars(): number {
    return this.manager.bus.draft(this.eventId)?.chars ?? 0;
  }

  #take(events: readonly { id: string; data: string }[]): void {
    const frames: Frame[] = [];
    let end: EndFrame | undefined;
    for (const { id, data } of events) {
      const frame = parsed(data);
      this.#lastId = id;
      if (!frame) continue;
      if (isEnd(frame)) end = frame;
      else frames.push(frame);
    }
    this.manager.bus.feed(this.eventId, frames);
    this.manager.events.took(this.eventId, frames);
    if (end) this.#end(end);
  }

  #end(frame: EndFrame): void {
    this.#isOver = true;
    this.manager.events.ended(this.eventId, frame);
    this.manager.bus.clear(this.eventId);
    this.#connection.abort();
  }

  #lose(): void {
    this.#isOver = true;
    this.manager.events.connection(this.eventId, true);
    this.manager.events.lost(this.eventId);
    this.manager.bus.clear(this.eventId);
  }
}

/** Return the pause before the next read, in milliseconds, for text that arrives at this rate. */
export function readPause(charsAMs: number): number {
  return Math.min(LONGEST_READ_MS, Math.max(READ_MS, READ_MS * charsAMs));
}

function parsed(data: string): Frame | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null && "type" in value ? (value as Frame) : undefined;
  } catch {
    return undefined;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    // Returning to the page or to the network ends the wait.
    const hurried = (): void => done();
    addEventListener("online", hurried);
    document.addEventListener("visibilitychange", hurried);
    function done(): void {
      clearTimeout(timer);
      removeEventListener("online", hurried);
      document.removeEventListener("visibilitychange", hurried);
      resolve();
    }
  });
}

/** Wait until the page is visible. */
async function shown(): Promise<void> {
  while (document.visibilityState === "hidden") await pause(60_000);
}

function whenHidden(act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") timer = setTimeout(act, HIDDEN_GRACE_MS);
  };
  document.addEventListener("visibilitychange", changed);
  changed();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", changed);
  };
}
