/** What a page around the chat may want to know. */
export type ChatNews =
  | { readonly type: "answer-started" | "answer-finished"; readonly eventId: string }
  | { readonly type: "input-requested"; readonly eventId: string; readonly requestId: string }
  | { readonly type: "error"; readonly error: Error }
  | { readonly type: "conversation-changed"; readonly conversationId: string | null };
