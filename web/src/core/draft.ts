/** The draft of one answer, built frame by frame. */

import { MarkdownStream } from "../markdown/blocks.js";
import { isTool, type Citation, type InputRequest, type MessageEvent, type ToolSegment, type TextSegment, type MediaSegment, type OpaqueSegment, type UserSegment } from "./event.js";
import type { Frame, ToolResult, ToolStarted, ToolUpdate } from "./frame.js";

export class EntryDraft {
  markdown = new MarkdownStream();
  text = "";
  isComplete = false;

  constructor(readonly type: "summary_text" | "reasoning_text" | "redacted") {}
}

export class ReasoningDraft {
  readonly type = "reasoning";
  /** By `summary_index`; parts that have not started yet are holes. */
  readonly entries: EntryDraft[] = [];
  durationMs: number | undefined;

  constructor(readonly id: string) {}
}

export class TextDraft {
  readonly type = "text";
  markdown = new MarkdownStream();
  readonly citations: Citation[] = [];
  text = "";

  constructor(readonly segment: TextSegment) {}

  get id(): string {
    return this.segment.id;
  }
}

export class ToolDraft {
  argsText = "";
  args: unknown = null;
  logs = "";
  progress: number | undefined;
  status = "writing";
  result: unknown = null;
  error: string | undefined;
  durationMs: number | undefined;
  hasEnded = false;
  /** What a sub-agent does for the call. */
  nested: EventDraft | undefined;
  /** The same, when it is complete. */
  event: MessageEvent | undefined;

  constructor(
    readonly type: ToolSegment["type"],
    readonly id: string,
    readonly name: string,
    readonly callId: string,
    readonly createdAt: number,
  ) {}
}

export class WholeDraft {
  constructor(readonly segment: MediaSegment | OpaqueSegment | UserSegment) {}

  get id(): string {
    return this.segment.id;
  }

  get type(): "media" | "opaque" | "user_message" {
    return this.segment.type;
  }
}

export type SegmentDraft = ReasoningDraft | TextDraft | ToolDraft | WholeDraft;

export interface StatusLine {
  readonly text: string;
  readonly source: string;
}

export class EventDraft {
  /** In the order of `sequence_number`, whatever order the frames arrive in. */
  segments: SegmentDraft[] = [];
  status: StatusLine | undefined;
  /** Number of characters so far. */
  chars = 0;
  /** Sources of the whole message. */
  readonly citations: Citation[] = [];
  /** Requests for input by id, with their answers. */
  readonly requests = new Map<string, InputRequest>();
  /** Ids of the calls that wait for the user. */
  get asking(): ReadonlySet<string> {
    return new Set([...this.requests.values()].flatMap((one) => (one.decision ? [] : [one.parent_call_id ?? one.call_id])));
  }
  /** What the user has said while the answer was being written, as far as the model has read it. */
  get userTexts(): string[] {
    return this.segments.flatMap((one) => (one instanceof WholeDraft && one.segment.type === "user_message" ? [one.segment.text] : []));
  }
  /** Whether nothing happens until a request is answered. */
  isWaiting = false;
  /** Id of the run, which takes the answers. */
  runId = "";
  #numbers = new Map<string, number>();
  #calls = new Map<string, ToolDraft>();
  #texts = new Map<number, TextDraft>();

  constructor(
    readonly id: string,
    public createdAt: number,
  ) {}

  /** Apply the next frame. Frames of unknown types or about unknown segments are ignored. */
  feed(frame: Frame): void {
    this.isWaiting = frame.type === "message_waiting";
    switch (frame.type) {
      case "text_delta":
        return this.#text(frame.text_delta, frame.output_index ?? 0);
      case "reasoning_part_delta":
        return this.#reasoningDelta(frame.segment_id, frame.summary_index, frame.text_delta);
      case "reasoning_part_started":
        this.#reasoning(frame.segment_id, frame.sequence_number).entries[frame.summary_index] = new EntryDraft(
          frame.part_type ?? "summary_text",
        );
        return;
      case "reasoning_part_completed":
        return this.#reasoningCompleted(frame.segment_id, frame.summary_index);
      case "reasoning_segment_meta": {
        const segment = this.#find(frame.segment_id);
        if (segment instanceof ReasoningDraft) segment.durationMs = frame.duration_ms;
        return;
      }
      case "part_restored":
        return this.#restore(frame.segment_id, frame.summary_index, frame.text);
      case "message_started":
        this.createdAt = frame.created_at;
        return;
      case "status":
        this.status = { text: frame.text, source: frame.source };
        return;
      case "segment_added":
        return this.#added(frame.segment, frame.sequence_number);
      case "input_requested":
        this.runId = frame.run_id;
        this.requests.set(frame.request_id, frame);
        return;
      case "input_answered": {
        const asked = this.requests.get(frame.request_id);
        if (asked) this.requests.set(frame.request_id, { ...asked, ...frame });
        return;
      }
      case "message_waiting":
        this.status = undefined;
        return;
      case "user_message_added": {
        const { segment_id: id, text, sequence_number } = frame;
        this.#place(new WholeDraft({ type: "user_message", id, text }), sequence_number);
        return;
      }
      case "citation_added": {
        const segment = frame.segment_id === undefined ? this : this.#find(frame.segment_id);
        if (segment === this || segment instanceof TextDraft) segment.citations.push(frame.citation);
        return;
      }
      case "nested_frame":
        return this.#nested(frame.parent_call_id, frame.frame);
      case "step_discarded":
        this.citations.length -= Math.min(frame.dropped_citations ?? 0, this.citations.length);
        return this.#discard(new Set(frame.segment_ids), new Set(frame.unanswered_ids));
      default:
        this.#tool(frame as { readonly type: string });
    }
  }

  // -- reasoning and text

  #find(id: string): SegmentDraft | undefined {
    // The growing segment is nearly always the last.
    return this.segments.findLast((one) => one.id === id);
  }

  /** Put a segment in its place. One without a number follows those that are there. */
  #place<Draft extends SegmentDraft>(draft: Draft, number?: number): Draft {
    const numbers = this.segments.map((one) => this.#numbers.get(one.id) ?? 0);
    const own = number ?? (numbers.at(-1) ?? -1) + 0.5;
    this.#numbers.set(draft.id, own);
    this.segments.splice(numbers.findLastIndex((one) => one <= own) + 1, 0, draft);
    return draft;
  }

  #reasoning(id: string, number: number): ReasoningDraft {
    const found = this.#find(id);
    return found instanceof ReasoningDraft ? found : this.#place(new ReasoningDraft(id), number);
  }

  #entry(id: string, place: number): EntryDraft | undefined {
    const found = this.#find(id);
    return found instanceof ReasoningDraft ? found.entries[place] : undefined;
  }

  #reasoningDelta(id: string, place: number, delta: string): void {
    const entry = this.#entry(id, place);
    if (!entry) return;
    this.chars += delta.length;
    entry.text += delta;
    entry.markdown.feed(delta);
  }

  #reasoningCompleted(id: string, place: number): void {
    const entry = this.#entry(id, place);
    if (!entry) return;
    entry.isComplete = true;
    entry.markdown.close();
  }

  /** Replace a text whose deltas had a gap. */
  #restore(id: string, place: number | undefined, text: string): void {
    const draft = place === undefined ? this.#find(id) : this.#entry(id, place);
    if (!(draft instanceof TextDraft || draft instanceof EntryDraft)) return;
    this.chars += text.length - draft.text.length;
    draft.text = text;
    draft.markdown = new MarkdownStream();
    draft.markdown.feed(text);
  }

  #added(segment: TextSegment | MediaSegment | OpaqueSegment, number?: number): void {
    if (segment.type !== "text") {
      this.#place(new WholeDraft(segment), number ?? segment.sequence_number);
      return;
    }
    const draft = this.#place(new TextDraft(segment), number);
    this.#texts.set((segment as { output_index?: number }).output_index ?? 0, draft);
  }

  #text(delta: string, output: number): void {
    let draft = this.#texts.get(output);
    if (!draft) {
      // A server that follows the protocol document strictly does not announce text segments.
      this.#added({ type: "text", id: `${this.id}-text-${this.segments.length}`, text: "" });
      draft = this.#texts.get(output);
    }
    if (!draft) return;
    this.chars += delta.length;
    draft.text += delta;
    draft.markdown.feed(delta);
  }

  // -- tools: tool_call_started, web_search_call_update, tool_result …

  #tool(frame: { readonly type: string }): void {
    const match = /^(.+?)_(started|update|result)$/.exec(frame.type);
    const kind = match?.[1] === "tool" ? "tool_call" : match?.[1];
    if (!match || !kind || !isTool({ type: kind })) return;
    if (match[2] === "started") this.#callStarted(kind as ToolSegment["type"], frame as unknown as ToolStarted);
    else if (match[2] === "update") this.#callUpdate(frame as unknown as ToolUpdate);
    else this.#callResult(frame as unknown as ToolResult);
  }

  #callStarted(type: ToolSegment["type"], frame: ToolStarted): void {
    const id = frame.segment_id ?? `${this.id}-${frame.call_id}`;
    this.#calls.set(frame.call_id, this.#place(new ToolDraft(type, id, frame.name, frame.call_id, frame.created_at), frame.sequence_number));
  }

  #callUpdate(frame: ToolUpdate): void {
    const draft = this.#calls.get(frame.call_id);
    if (!draft) return;
    draft.status = frame.status;
    draft.argsText += frame.args_delta ?? "";
    draft.logs += frame.logs_delta ?? "";
    if (frame.args !== undefined) draft.args = frame.args;
    if (frame.progress !== undefined) draft.progress = frame.progress;
  }

  #callResult(frame: ToolResult): void {
    const draft = this.#calls.get(frame.call_id);
    if (!draft) return;
    draft.hasEnded = true;
    draft.result = frame.result;
    draft.error = frame.error;
    draft.durationMs = frame.duration_ms;
    draft.event = frame.event;
  }

  /** Apply a frame of a sub-agent to the call that has started it. */
  #nested(callId: string, frame: Frame): void {
    const call = this.#calls.get(callId);
    if (!call) return;
    if (!call.nested || frame.type === "message_started") call.nested = new EventDraft(call.id, call.createdAt);
    const before = call.nested.chars;
    call.nested.feed(frame);
    this.chars += call.nested.chars - before;
  }

  #discard(gone: ReadonlySet<string>, unanswered: ReadonlySet<string>): void {
    const calls = this.segments.flatMap((one) => (one instanceof ToolDraft && gone.has(one.id) ? [one.callId] : []));
    for (const [id, asked] of this.requests) {
      if (calls.includes(asked.parent_call_id ?? asked.call_id)) this.requests.delete(id);
    }
    this.segments = this.segments.filter((one) => !gone.has(one.id));
    for (const draft of this.#calls.values()) {
      if (!unanswered.has(draft.id)) continue;
      draft.hasEnded = false;
      draft.result = null;
      draft.error = undefined;
    }
  }
}
