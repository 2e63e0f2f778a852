/** Formats numbers and values for display. */

import { t } from "../languages/language.js";

/** Made once: `toLocaleString` makes one for each number. */
const NUMBERS = new Intl.NumberFormat("en");

export function duration(ms: number): string {
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 950) return `${Math.round(ms / 100) / 10} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Format a running time, rounded down. */
export function elapsed(ms: number): string {
  return ms < 1_000 ? "0 s" : duration(Math.floor(ms / 1_000) * 1_000);
}

/** Format a number with separators: `12,345`. */
export function formatNumber(number: number): string {
  return NUMBERS.format(number);
}

/** Return the name of an effort. */
export function effortName(effort: string): string {
  return t.efforts[effort] ?? effort;
}

/** Format a share: `38 %`. */
export function percent(share: number): string {
  return `${Math.round(Math.min(1, Math.max(0, share)) * 100)} %`;
}

/** Format a cost in dollars, with as many digits as it needs: `$0.0004`, `$1.25`. */
export function dollars(amount: number): string {
  return `$${amount >= 1 ? amount.toFixed(2) : amount.toFixed(6).replace(/\.?0+$/, "")}`;
}

/** Begin a message of the server with a capital letter. What begins with a name or an identifier is kept. */
export function capitalize(text: string): string {
  return text.replace(/^[a-z](?=[a-z]*[ ,])/, (letter) => letter.toUpperCase());
}

/** Write a message of the server as a sentence. */
export function sentence(text: string): string {
  return capitalize(text).replace(/(?<=[^.!?…。！？])$/, ".");
}

/** Format a tool value: text as it is, anything else as JSON. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** Format a tool value in one short line. */
export function shownBriefly(value: unknown, limit = 60): string {
  const text = typeof value === "object" && value !== null ? (mediaName(value) ?? brief(value)) : shownValue(value);
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** Return what an image or a file is called, instead of its bytes. */
function mediaName(value: object): string | null {
  const { type, name, media_type: kind, url } = value as Readonly<Record<string, unknown>>;
  return (type === "image" || type === "file") && typeof url === "string" ? String(name ?? kind ?? type) : null;
}

function brief(value: object): string {
  const values = Array.isArray(value) ? value : Object.values(value);
  return values.map((one: unknown) => (typeof one === "object" && one !== null ? (mediaName(one) ?? JSON.stringify(one)) : String(one))).join(", ");
}

const DAY_MS = 86_400_000;

/** Return the heading of the list section for a time. */
export function day(atMs: number, nowMs: number): string {
  const today = new Date(nowMs).setHours(0, 0, 0, 0);
  if (atMs >= today) return t.today;
  if (atMs >= today - DAY_MS) return t.yesterday;
  if (atMs >= today - 7 * DAY_MS) return t.thisWeek;
  return t.earlier;
}
