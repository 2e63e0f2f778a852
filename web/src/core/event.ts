/** The canonical event of an assistant message, as stored and as sent in the last frame. */

export interface ReasoningEntry {
  readonly text: string;
  readonly type: "summary_text" | "reasoning_text" | "redacted";
  readonly created_at: number;
  readonly is_complete: boolean;
  readonly summary_index: number;
  readonly sequence_number: number;
}

export interface ReasoningSegment {
  readonly type: "reasoning";
  readonly id: string;
  readonly parts: readonly ReasoningEntry[];
  readonly sequence_number: number;
  readonly duration_ms?: number;
  readonly effort_level?: string;
  readonly reasoning_tokens?: number;
}

export interface TextSegment {
  readonly type: "text";
  readonly id: string;
  readonly text: string;
  readonly is_refusal?: boolean;
  readonly citations?: readonly Citation[];
  readonly sequence_number?: undefined;
}

/** Tools that a provider runs itself. */
const BUILT_IN = ["web_search_call", "code_interpreter_call", "file_search_call", "mcp_call", "image_generation_call"] as const;

export type BuiltInType = (typeof BUILT_IN)[number];

export interface ToolSegment {
  readonly type: "tool_call" | BuiltInType;
  readonly id: string;
  readonly call_id: string;
  readonly name: string;
  readonly args: unknown;
  readonly result: unknown;
  readonly status: "completed" | "failed" | "incomplete" | "approval_requested";
  readonly sequence_number: number;
  readonly created_at: number;
  readonly error?: string;
  readonly duration_ms?: number;
  /** What a sub-agent did for the call. */
  readonly event?: MessageEvent;
}

export interface MediaSegment {
  readonly type: "media";
  readonly id: string;
  readonly media_type: string;
  readonly url: string;
  readonly sequence_number?: number;
}

export interface OpaqueSegment {
  readonly type: "opaque";
  readonly id: string;
  readonly kind: string;
  readonly sequence_number?: number;
}

/** What the user said while the answer was going on. */
export interface UserSegment {
  readonly type: "user_message";
  readonly id: string;
  readonly text: string;
  readonly sequence_number?: number;
}

export type Segment = ReasoningSegment | TextSegment | ToolSegment | MediaSegment | OpaqueSegment | UserSegment;

/** The answer to a request for input. */
export interface InputAnswer {
  readonly decision: "accepted" | "denied" | "expired";
  readonly value?: unknown;
  readonly is_always?: boolean;
  readonly reason?: string;
  readonly by?: string;
}

/** A request for input, with its answer if there is one. */
export interface InputRequest extends Partial<InputAnswer> {
  readonly request_id: string;
  readonly kind: "approval" | "result" | "form" | "text";
  readonly call_id: string;
  readonly name: string;
  readonly created_at: number;
  readonly args?: unknown;
  readonly message?: string;
  readonly schema?: unknown;
  readonly expires_at?: number;
  /** For a request of a sub-agent: id of the outermost call. */
  readonly parent_call_id?: string;
}

export interface Citation {
  readonly source?: string;
  readonly ref?: string;
  readonly title?: string;
  readonly quote?: string;
  /** Where the passage of the text that cites it ends. */
  readonly end?: number;
}

export interface Usage {
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly total_tokens?: number | null;
  readonly reasoning_tokens?: number | null;
  /** In US dollars. */
  readonly cost?: number | null;
  readonly is_estimated?: boolean;
}

export interface Finish {
  readonly word: string;
  readonly kind?: string;
  readonly detail?: string;
}

export interface Failure {
  readonly category: string;
  readonly message: string;
  readonly request_id?: string;
}

export interface MessageEvent {
  readonly id: string;
  readonly role: "assistant";
  readonly run_id: string | null;
  readonly created_at: number;
  readonly segments: readonly Segment[];
  readonly usage: Usage | null;
  readonly finish?: Finish;
  readonly error?: Failure;
  readonly citations?: readonly Citation[];
  readonly duration_ms?: number;
  readonly requests?: readonly InputRequest[];
  /** What is known about content that is missing. */
  readonly warning?: string;
  /** The model that wrote it, as its provider calls it. */
  readonly model?: string;
}

export function isTool(segment: { readonly type: string }): segment is ToolSegment {
  return segment.type === "tool_call" || (BUILT_IN as readonly string[]).includes(segment.type);
}

/** Return the text of the answer, for copying. */
export function textOf(event: MessageEvent): string {
  const texts = event.segments.filter((one): one is TextSegment => one.type === "text");
  return texts.map((one) => one.text).join("\n\n");
}
