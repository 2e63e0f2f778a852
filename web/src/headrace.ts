/** The script to embed: it defines `<headrace-chat>`, and names what a page may build on. */

// Libraries first, and in this order: what is alike stands together then, and packs smaller by 250 bytes.
import "marked";
import "dompurify";
import "lit";
import "lit/directives/repeat.js";
import "lit/directives/keyed.js";
import "./ui/style.js";
export { API, Refused } from "./core/api.js";
export { StreamingBus } from "./core/bus.js";
export { Chat } from "./core/chat.js";
export { EventDraft } from "./core/draft.js";
export { StreamingSessionManager } from "./core/session.js";
export { SSEReader } from "./core/sse.js";
export { HeadraceChat } from "./ui/chat.js";
