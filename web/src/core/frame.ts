/** The frames of the ux protocol. Unknown types are ignored. */

import type { BuiltInType, Citation, InputAnswer, InputRequest, MediaSegment, MessageEvent, OpaqueSegment, TextSegment } from "./event.js";

export interface ToolStarted {
  readonly event_id: string;
  readonly call_id: string;
  readonly segment_id: string;
  readonly name: string;
  readonly sequence_number: number;
  readonly created_at: number;
}

export interface ToolUpdate {
  readonly event_id: string;
  readonly call_id: string;
  readonly status: string;
  readonly progress?: number;
  readonly logs_delta?: string;
  readonly args_delta?: string;
  readonly args?: unknown;
}

export interface ToolResult {
  readonly event_id: string;
  readonly call_id: string;
  readonly result: unknown;
  readonly error?: string;
  readonly duration_ms?: number;
  /** What a sub-agent did for the call. */
  readonly event?: MessageEvent;
}

interface PartPlace {
  readonly event_id: string;
  readonly segment_id: string;
  readonly summary_index: number;
}

export type ToolFrame =
  | ({ readonly type: "tool_call_started" | `${BuiltInType}_started` } & ToolStarted)
  | ({ readonly type: "tool_call_update" | `${BuiltInType}_update` } & ToolUpdate)
  | ({ readonly type: "tool_result" | `${BuiltInType}_result` } & ToolResult);

export type EndFrame =
  | { readonly type: "message_final"; readonly event: MessageEvent }
  | { readonly type: "message_error"; readonly event_id: string; readonly message: string; readonly event: MessageEvent }
  | { readonly type: "message_cancelled"; readonly event_id: string; readonly event: MessageEvent };

export type Frame =
  | { readonly type: "message_started"; readonly event_id: string; readonly created_at: number }
  | ({
      readonly type: "reasoning_part_started";
      readonly sequence_number: number;
      readonly created_at: number;
      readonly part_type?: "summary_text" | "reasoning_text" | "redacted";
    } & PartPlace)
  | ({ readonly type: "reasoning_part_delta"; readonly text_delta: string } & PartPlace)
  | ({ readonly type: "reasoning_part_completed" } & PartPlace)
  | {
      readonly type: "reasoning_segment_meta";
      readonly event_id: string;
      readonly segment_id: string;
      readonly effort_level?: string;
      readonly reasoning_tokens?: number;
      readonly duration_ms?: number;
    }
  | {
      readonly type: "segment_added";
      readonly segment: TextSegment | MediaSegment | OpaqueSegment;
      readonly sequence_number?: number;
    }
  | { readonly type: "part_restored"; readonly segment_id: string; readonly text: string; readonly summary_index?: number }
  | { readonly type: "text_delta"; readonly text_delta: string; readonly output_index?: number }
  | { readonly type: "citation_added"; readonly citation: Citation; readonly segment_id?: string }
  | { readonly type: "status"; readonly text: string; readonly source: string; readonly created_at: number }
  | {
      readonly type: "step_discarded";
      readonly segment_ids: readonly string[];
      readonly unanswered_ids?: readonly string[];
      readonly dropped_citations?: number;
    }
  | ({ readonly type: "input_requested"; readonly run_id: string } & InputRequest)
  | ({ readonly type: "input_answered"; readonly request_id: string } & InputAnswer)
  | { readonly type: "message_waiting"; readonly run_id: string; readonly waiting: readonly string[] }
  | { readonly type: "user_message_added"; readonly segment_id: string; readonly text: string; readonly sequence_number: number }
  | { readonly type: "nested_frame"; readonly parent_call_id: string; readonly frame: Frame }
  | ToolFrame
  | EndFrame;

export function isEnd(frame: Frame): frame is EndFrame {
  return frame.type === "message_final" || frame.type === "message_error" || frame.type === "message_cancelled";
}
