/** The view model of a message, the same while streaming and stored.
 *
 * A message is a list of groups: the steps before a piece of content, and the content. */

import type { Block } from "../markdown/blocks.js";
import { BlockCache } from "./block-cache.js";
import { EntryDraft, EventDraft, ReasoningDraft, TextDraft, ToolDraft, WholeDraft, type SegmentDraft } from "./draft.js";
import {
  isTool,
  type Citation,
  type InputRequest,
  type MediaSegment,
  type MessageEvent,
  type OpaqueSegment,
  type ReasoningEntry,
  type ReasoningSegment,
  type Segment,
  type TextSegment,
  type ToolSegment,
  type UserSegment,
} from "./event.js";

/** State of a tool whose request is not answered yet. */
export const WAITING = "waiting";

export interface Prose {
  readonly blocks: readonly Block[];
  /** HTML of the open tail. */
  readonly tail: string;
}

export interface PartView extends Prose {
  /** False if the provider hides the text, or has sent none yet. */
  readonly hasWords: boolean;
  readonly isRedacted: boolean;
  readonly isComplete: boolean;
}

export interface ReasoningView {
  readonly kind: "reasoning";
  readonly id: string;
  readonly parts: readonly PartView[];
  readonly durationMs: number | undefined;
  readonly effort: string | undefined;
  readonly tokens: number | undefined;
}

export interface ToolView {
  readonly kind: "tool";
  readonly id: string;
  readonly callId: string;
  readonly createdAt: number;
  readonly type: ToolSegment["type"];
  readonly name: string;
  /** The parsed arguments, or their text so far. */
  readonly args: unknown;
  readonly state: "running" | ToolSegment["status"];
  readonly status: string;
  readonly progress: number | undefined;
  readonly logs: string;
  readonly result: unknown;
  readonly error: string | undefined;
  readonly durationMs: number | undefined;
  /** What a sub-agent did for the call. */
  readonly nested: readonly Group[];
}

export interface OpaqueView {
  readonly kind: "opaque";
  readonly id: string;
  readonly what: string;
}

export type StepView = ReasoningView | ToolView | OpaqueView;

export interface TextView extends Prose {
  readonly kind: "text";
  readonly id: string;
  readonly isRefusal: boolean;
  readonly citations: readonly Citation[];
}

export interface MediaView {
  readonly kind: "media";
  readonly id: string;
  readonly mediaType: string;
  readonly url: string;
}

/** What the user said while the answer was going on. */
export interface SaidView {
  readonly kind: "said";
  readonly id: string;
  readonly text: string;
}

export interface RequestView {
  readonly kind: "request";
  readonly id: string;
  readonly request: InputRequest;
}

export type ContentView = TextView | MediaView | SaidView | RequestView;
type ItemView = StepView | ContentView;

export interface Group {
  readonly steps: readonly StepView[];
  readonly content: ContentView | null;
}

/** Group steps and content in order: one group per piece of content, and one for what follows. */
export function grouped(items: readonly (StepView | ContentView)[]): Group[] {
  const groups: Group[] = [];
  let steps: StepView[] = [];
  for (const item of items) {
    if (item.kind === "reasoning" || item.kind === "tool" || item.kind === "opaque") {
      steps.push(item);
    } else {
      groups.push({ steps, content: item });
      steps = [];
    }
  }
  if (steps.length > 0) groups.push({ steps, content: null });
  return groups;
}

/** Put requests behind the calls of their turn. */
function withRequests(items: readonly ItemView[], requests: Iterable<InputRequest>): ItemView[] {
  const found = [...items];
  for (const request of requests) {
    const callId = request.parent_call_id ?? request.call_id;
    const isBefore = (one: ItemView | undefined): one is ToolView => one?.kind === "tool" && one.createdAt <= request.created_at;
    let place = found.findLastIndex((one) => isBefore(one) && one.callId === callId);
    if (place < 0) place = found.length - 1;
    while (isBefore(found[place + 1]) || found[place + 1]?.kind === "request") place += 1;
    found.splice(place + 1, 0, { kind: "request", id: request.request_id, request });
  }
  return found;
}

// -- a draft

export function draftView(draft: EventDraft, cache = new BlockCache()): Group[] {
  const groups = grouped(withRequests(draft.segments.map((one) => drafted(one, cache, draft.asking)), draft.requests.values()));
  const last = groups.at(-1)?.content;
  const isGoingOn = last?.kind === "said" || (last?.kind === "request" && last.request.decision !== undefined);
  return isGoingOn ? [...groups, { steps: [], content: null }] : groups;
}

function drafted(segment: SegmentDraft, cache: BlockCache, asking: ReadonlySet<string>): StepView | ContentView {
  if (segment instanceof TextDraft) {
    return { ...textFacts(segment.segment), citations: segment.citations, ...prose(segment.markdown) };
  }
  if (segment instanceof ReasoningDraft) {
    const { id, durationMs } = segment;
    const parts = segment.entries.flat().map(draftedPart);
    return { kind: "reasoning", id, parts, durationMs, effort: undefined, tokens: undefined };
  }
  return segment instanceof WholeDraft ? whole(segment.segment) : draftedTool(segment, cache, asking);
}

function draftedPart(entry: EntryDraft): PartView {
  const { text, type, isComplete } = entry;
  return { hasWords: text !== "", isRedacted: type === "redacted", isComplete, ...prose(entry.markdown) };
}

function prose(markdown: { settled: readonly Block[]; tail: string }): Prose {
  return { blocks: markdown.settled, tail: markdown.tail };
}

function draftedTool(tool: ToolDraft, cache: BlockCache, asking: ReadonlySet<string>): ToolView {
  const { id, callId, createdAt, type, name, progress, logs, result, error, durationMs } = tool;
  const status = asking.has(callId) && tool.status !== "approval_requested" ? WAITING : tool.status;
  const ended = error === undefined ? "completed" : "failed";
  const state = tool.hasEnded ? ended : "running";
  const args = tool.args ?? tool.argsText;
  const nested = tool.event ? eventView(tool.event, cache) : tool.nested ? draftView(tool.nested, cache) : [];
  return { kind: "tool", id, callId, createdAt, type, name, args, state, status, progress, logs, result, error, durationMs, nested };
}

// -- a stored event

export function eventView(event: MessageEvent, cache: BlockCache): Group[] {
  // Texts have no number of their own.
  const numbered = event.segments.map((segment, place) => ({ segment, number: segment.sequence_number ?? place }));
  numbered.sort((a, b) => a.number - b.number);
  return grouped(withRequests(numbered.map(({ segment }) => stored(segment, cache)), event.requests ?? []));
}

function stored(segment: Segment, cache: BlockCache): StepView | ContentView {
  if (isTool(segment)) return storedTool(segment, cache);
  switch (segment.type) {
    case "text":
      return { ...textFacts(segment), blocks: cache.blocks(segment.id, segment.text), tail: "" };
    case "reasoning":
      return storedReasoning(segment, cache);
    default:
      return whole(segment);
  }
}

function storedReasoning(segment: ReasoningSegment, cache: BlockCache): ReasoningView {
  const parts = [...segment.parts].sort((a, b) => a.summary_index - b.summary_index);
  return {
    kind: "reasoning",
    id: segment.id,
    parts: parts.map((part) => storedPart(segment.id, part, cache)),
    durationMs: segment.duration_ms,
    effort: segment.effort_level,
    tokens: segment.reasoning_tokens,
  };
}

function storedPart(id: string, part: ReasoningEntry, cache: BlockCache): PartView {
  return {
    hasWords: part.text !== "",
    isRedacted: part.type === "redacted",
    isComplete: part.is_complete,
    // Reasoning is not rendered until it is opened.
    get blocks() {
      return cache.blocks(`${id}/${part.summary_index}`, part.text);
    },
    tail: "",
  };
}

function storedTool(segment: ToolSegment, cache: BlockCache): ToolView {
  const { id, type, name, args, result, error, status } = segment;
  return {
    kind: "tool",
    id,
    callId: segment.call_id,
    createdAt: segment.created_at,
    type,
    name,
    args,
    state: status,
    status,
    progress: undefined,
    logs: "",
    result,
    error,
    durationMs: segment.duration_ms,
    // Not rendered until it is opened.
    get nested() {
      return segment.event ? eventView(segment.event, cache) : [];
    },
  };
}

function textFacts(segment: TextSegment): Pick<TextView, "kind" | "id" | "isRefusal" | "citations"> {
  const { id, is_refusal: isRefusal = false, citations = [] } = segment;
  return { kind: "text", id, isRefusal, citations };
}

function whole(segment: MediaSegment | OpaqueSegment | UserSegment): MediaView | OpaqueView | SaidView {
  if (segment.type === "user_message") return { kind: "said", id: segment.id, text: segment.text };
  if (segment.type === "media") {
    return { kind: "media", id: segment.id, mediaType: segment.media_type, url: segment.url };
  }
  return { kind: "opaque", id: segment.id, what: segment.kind };
}
