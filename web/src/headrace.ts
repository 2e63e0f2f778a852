/** The script to embed: it defines `<headrace-chat>`, and names what a page may build on. */

// In this order what is alike stands together, and packs smaller by 400 bytes.
import "marked";
import "lit";
import "lit/directives/repeat.js";
import "./ui/style.js";
import "./markdown/splitter.js";
export { API, Refused } from "./core/api.js";
export { loadPurifier } from "./markdown/sanitize.js";
export { StreamingBus } from "./core/bus.js";
export { Chat } from "./core/chat.js";
export { EventDraft } from "./core/draft.js";
export { StreamingSessionManager } from "./core/session.js";
export { SSEReader } from "./core/sse.js";
export { HeadraceChat } from "./ui/chat.js";
