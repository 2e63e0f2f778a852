/** The HTTP API of the server. Same origin; an access token is sent in a header if there is one. */

import type { AttachmentFacts } from "./attachment.js";
import type { InputAnswer, MessageEvent } from "./event.js";

export interface Conversation {
  readonly id: string;
  readonly title: string;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly leaf_id: string | null;
}

/** One page of conversations, newest first, and the cursor of the next page. */
export interface Page {
  readonly conversations: readonly Conversation[];
  readonly next: string | null;
}

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

export class API {
  #base: URL;

  constructor(
    base: string,
    readonly token: () => string | null | Promise<string | null> = () => null,
  ) {
    this.#base = new URL(base === "" || base.endsWith("/") ? base : `${base}/`, document.baseURI);
  }

  async models(): Promise<readonly ServedModel[]> {
    return (await this.#json<{ models: ServedModel[] }>("api/models")).models;
  }

  async conversations(words: string, before: string | null): Promise<Page> {
    const [name, value] = before ? ["before", before] : ["q", words.trim()];
    return await this.#json(`api/conversations${value && `?${name}=${encodeURIComponent(value)}`}`);
  }

  /** Return a page of a conversation: the newest messages, or those before a cursor. */
  async conversation(id: string, before?: string): Promise<WholeConversation> {
    const query = before ? `?before=${encodeURIComponent(before)}` : "";
    return await this.#json(`api/conversations/${encodeURIComponent(id)}${query}`);
  }

  async change(id: string, change: { title?: string; leaf_id?: string }): Promise<Conversation> {
    return await this.#json(`api/conversations/${encodeURIComponent(id)}`, "PATCH", change);
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
    await this.#json(`api/runs/${encodeURIComponent(runId)}/requests/${encodeURIComponent(requestId)}`, "POST", answer);
  }

  /** Return the full address of a path. */
  address(path: string): string {
    return new URL(path, this.#base).href;
  }

  /** Return the bytes of an attachment. */
  async bytes(path: string): Promise<Blob> {
    return await (await this.#fetch(path, {})).blob();
  }

  /** Return the conversation as Markdown. */
  async exported(id: string): Promise<string> {
    return await (await this.#fetch(`api/conversations/${encodeURIComponent(id)}/export?format=markdown`, {})).text();
  }

  async #json<T>(path: string, method = "GET", body?: unknown): Promise<T> {
    const options: RequestInit = { method };
    if (body !== undefined) {
      options.body = JSON.stringify(body);
      options.headers = { "content-type": "application/json" };
    }
    return (await (await this.#fetch(path, options)).json()) as T;
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
    error?: { code?: string; message?: string; request_id?: string; event_id?: string };
  }
  const body = (await response.json().catch(() => ({}))) as Body;
  const error = body.error ?? {};
  const text = error.message ?? `the server answered ${response.status}`;
  const retryMs = 1_000 * (Number(response.headers.get("retry-after")) || 0);
  return new Refused(response.status, error.code ?? "unknown", text, error.request_id, error.event_id, retryMs);
}
