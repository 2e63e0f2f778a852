/** The HTTP API of the server. Same origin; an access token is sent in a header if there is one. */

import type { AttachmentFacts } from "./attachment.js";
import type { InputAnswer, MessageEvent } from "./event.js";
import { t } from "../languages/language.js";

export interface Conversation {
  readonly id: string;
  readonly title: string;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly leaf_id: string | null;
  readonly is_pinned?: boolean;
  /** Whether an answer has ended that was not shown yet. */
  readonly is_unread?: boolean;
  readonly instructions?: string | null;
  /** Tokens of the last request and its answer. */
  readonly context_tokens?: number | null;
  readonly total_tokens?: number | null;
  /** In US dollars. */
  readonly cost?: number | null;
}

/** What can be changed about a conversation. */
export interface ConversationChange {
  readonly title?: string;
  readonly leaf_id?: string;
  readonly is_pinned?: boolean;
  readonly is_unread?: boolean;
  readonly instructions?: string;
}

/** Where a search has found its words. */
export interface Hit {
  readonly message_id: string;
  readonly snippet: readonly { readonly text: string; readonly is_match?: boolean }[];
}

/** What a user has set; what is missing is the default. */
export interface UserSettings {
  readonly theme?: string;
  readonly effort?: string;
  readonly model?: string;
  readonly instructions?: string;
  readonly send_key?: string;
  readonly language?: string;
}

export interface Account {
  readonly user: string;
  readonly role: string;
  /** How the server knows the user: not at all, by a cookie, a token or a proxy. */
  readonly carrier: "none" | "cookie" | "token" | "proxy";
  readonly settings: UserSettings;
}

/** One page of conversations, newest first, and the cursor of the next page. */
export interface Page {
  readonly conversations: readonly Conversation[];
  readonly next: string | null;
  /** Conversations with an answer that is being written or waits for the user, by id. */
  readonly live?: Readonly<Record<string, AnswerState>>;
  /** On the first page: the conversations that the user has pinned, wherever they are in the list. */
  readonly pinned?: readonly Conversation[];
  /** Where a search has found its words, by id of the conversation. */
  readonly hits?: Readonly<Record<string, Hit>>;
}

export type AnswerState = "writing" | "waiting";

export interface ShownMessage {
  readonly id: string;
  readonly parent_id: string | null;
  readonly role: string;
  readonly created_at: number;
  readonly text?: string;
  readonly attachments?: readonly AttachmentFacts[];
  readonly event?: MessageEvent;
}

export interface LiveEvent {
  readonly event_id: string;
  readonly parent_id: string;
  readonly created_at: number;
}

/** A conversation with some of its messages, oldest first. */
export interface WholeConversation {
  readonly conversation: Conversation;
  readonly messages: readonly ShownMessage[];
  readonly live: readonly LiveEvent[];
  /** The cursor of the page of earlier messages; null if there are none. */
  readonly earlier?: string | null;
}

export interface ServedModel {
  readonly name: string;
  readonly model: string;
  readonly tools: readonly string[];
  readonly is_rehearsal: boolean;
  readonly efforts?: readonly string[];
  readonly context_window?: number | null;
}

export interface Ask {
  readonly message?: string;
  readonly conversation_id?: string;
  readonly parent_id?: string;
  readonly beside_id?: string;
  readonly model?: string;
  readonly effort?: string;
  readonly is_branch?: boolean;
  readonly mode?: "steer";
  readonly attachments?: readonly string[];
  readonly instructions?: string;
}

/** An error response of the server. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | undefined,
    readonly eventId: string | undefined,
    /** When to try again, if the server says so. */
    readonly retryAfterMs = 0,
    /** How one can sign in, if that is what is missing. */
    readonly waysIn: readonly string[] = [],
  ) {
    super(message);
  }
}

export interface Begun {
  readonly eventId: string;
  readonly conversationId: string;
  readonly parentId: string;
  readonly response: Response;
}

/** Browsers send at most 64 kB for a page that is closed. */
const KEPT_ALIVE_CHARS = 10_000;

export class API {
  #base: URL;

  constructor(
    base: string,
    readonly token: () => string | null | Promise<string | null> = () => null,
  ) {
    this.#base = new URL(base === "" || base.endsWith("/") ? base : `${base}/`, document.baseURI);
  }

  async models(): Promise<readonly ServedModel[]> {
    return (await this.json<{ models: ServedModel[] }>("api/models")).models;
  }

  /** Return who the user is; null for a server without accounts. */
  async account(): Promise<Account | null> {
    return await this.json<Account>("api/account").catch((error: unknown) => {
      if (error instanceof Refused && error.status === 404) return null;
      throw error;
    });
  }

  async conversations(words: string, before: string | null): Promise<Page> {
    const [name, value] = before ? ["before", before] : ["q", words.trim()];
    return await this.json(`api/conversations${value && `?${name}=${encodeURIComponent(value)}`}`);
  }

  /** Return a page of a conversation: the newest messages, or those before a cursor. */
  async conversation(id: string, before?: string): Promise<WholeConversation> {
    const query = before ? `?before=${encodeURIComponent(before)}` : "";
    return await this.json(`api/conversations/${encodeURIComponent(id)}${query}`);
  }

  async change(id: string, change: ConversationChange): Promise<Conversation> {
    return await this.json(`api/conversations/${encodeURIComponent(id)}`, "PATCH", change);
  }

  async delete(id: string): Promise<void> {
    await this.#fetch(`api/conversations/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  async ask(ask: Ask, key: string): Promise<Begun> {
    const response = await this.#fetch("api/chat", {
      method: "POST",
      body: JSON.stringify(ask),
      headers: { "content-type": "application/json", "idempotency-key": key },
    });
    return {
      eventId: response.headers.get("x-event-id") ?? "",
      conversationId: response.headers.get("x-conversation-id") ?? "",
      parentId: response.headers.get("x-parent-id") ?? "",
      response,
    };
  }

  /** Stream the frames after the one with this id. */
  async resume(eventId: string, after: string, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = after === "" ? {} : { "last-event-id": after };
    return await this.#fetch(`api/chat/${encodeURIComponent(eventId)}/stream`, { headers, signal });
  }

  async cancel(eventId: string): Promise<void> {
    // The request is sent even if the page is closed at the same moment.
    await this.#fetch(`api/chat/${encodeURIComponent(eventId)}/cancel`, { method: "POST", keepalive: true });
  }

  /** Answer a request for input of a run. */
  async answer(runId: string, requestId: string, answer: InputAnswer): Promise<void> {
    await this.json(`api/runs/${encodeURIComponent(runId)}/requests/${encodeURIComponent(requestId)}`, "POST", answer);
  }

  /** Return the full address of a path. */
  address(path: string): string {
    return new URL(path, this.#base).href;
  }

  /** Return the bytes of an attachment. */
  async bytes(path: string): Promise<Blob> {
    return await (await this.#fetch(path, {})).blob();
  }

  /** Send a request and return the JSON of the response. */
  async json<T>(path: string, method = "GET", body?: unknown): Promise<T> {
    const options: RequestInit = { method };
    if (body !== undefined) {
      options.body = JSON.stringify(body);
      options.headers = { "content-type": "application/json" };
      // What was changed is sent even if the page is closed at the same moment.
      options.keepalive = options.body.length < KEPT_ALIVE_CHARS;
    }
    const response = await this.#fetch(path, options);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  async #fetch(path: string, options: RequestInit): Promise<Response> {
    const headers = new Headers(options.headers);
    const token = await this.token();
    if (token) headers.set("authorization", `Bearer ${token}`);
    const response = await fetch(new URL(path, this.#base), { ...options, headers, cache: "no-store" });
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

/** Return the newest messages, and as many earlier ones as it takes to show the selected branch. */
export async function newestMessages(api: API, id: string): Promise<WholeConversation> {
  let whole = await api.conversation(id);
  const { leaf_id } = whole.conversation;
  const isThere = (): boolean => whole.messages.some((one) => one.id === leaf_id);
  while (leaf_id && whole.earlier && !isThere()) {
    const { messages, earlier } = await api.conversation(id, whole.earlier);
    whole = { ...whole, messages: [...messages, ...whole.messages], earlier: earlier ?? null };
  }
  return whole;
}

async function refusal(response: Response): Promise<Refused> {
  interface Body {
    error?: { code?: string; message?: string; request_id?: string; event_id?: string; sign_in?: string[] };
  }
  const body = (await response.json().catch(() => ({}))) as Body;
  const error = body.error ?? {};
  const text = error.message ?? t.serverAnswered(response.status);
  const retryMs = 1_000 * (Number(response.headers.get("retry-after")) || 0);
  return new Refused(response.status, error.code ?? "unknown", text, error.request_id, error.event_id, retryMs, error.sign_in);
}
