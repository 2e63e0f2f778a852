/** What screen readers are told while an answer streams. */

import type { EndFrame, Frame, ToolStarted } from "./frame.js";
import { t } from "../languages/language.js";

const NEWS_MS = 5_000;

/** Return the announcements of tool calls and requests in these frames, without the old ones of a replay. */
export function announceCalls(frames: readonly Frame[]): string[] {
  const texts: string[] = [];
  for (const frame of frames) {
    if (frame.type === "input_requested") {
      const wanted = frame.kind === "approval" ? t.needsApproval : t.needsAnswer;
      if (Date.now() - frame.created_at < NEWS_MS) texts.push(wanted(frame.name));
    }
    if (!frame.type.endsWith("_call_started")) continue;
    const { name, created_at } = frame as unknown as ToolStarted;
    if (Date.now() - created_at < NEWS_MS) texts.push(`${t.using(name)}.`);
  }
  return texts;
}

/** Return the announcement of how an answer ended. */
export function announceEnd(frame: EndFrame): string {
  if (frame.type === "message_cancelled") return t.stopped;
  if (frame.type === "message_error") return t.endedEarly(frame.message);
  return t.complete;
}
