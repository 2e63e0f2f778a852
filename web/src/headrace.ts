/** The script to embed: it defines `<headrace-chat>`, and names what a page may build on. */

export { API, Refused } from "./core/api.js";
export { StreamingBus } from "./core/bus.js";
export { Chat } from "./core/chat.js";
export { EventDraft } from "./core/draft.js";
export { StreamingSessionManager } from "./core/session.js";
export { SSEReader } from "./core/sse.js";
export { HeadraceChat } from "./ui/chat.js";
