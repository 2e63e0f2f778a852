/** `<headrace-chat>`: the whole chat as one element for any page of the same origin.
 *
 * Attributes: `base`, the server's address relative to the page; `routes`, to keep the open conversation in the
 * page's address; `theme`, `light` or `dark` (default: the system's); `heading`, the text of an empty chat; `layout`,
 * `page`, `panel` or `bubble`; `conversation`, the id of the open conversation; `agent`, the name of the model to ask.
 * Properties: the same, `accessToken`, and `toolViews`. It tells what happens by events; see `ChatNews`. */

import { html, LitElement, nothing, type TemplateResult } from "lit";
import { API, Refused } from "../core/api.js";
import { Chat } from "../core/chat.js";
import type { ChatNews } from "../core/news.js";
import { blank, skeleton } from "./blank.js";
import { define, keyOf, passFocus } from "./element.js";
import { Follow } from "./follow.js";
import { icon } from "./icon.js";
import { keepInPlace } from "./keep-in-place.js";
import { LiveRegion } from "./live-region.js";
import { refusal } from "./notice.js";
import { styles } from "./style.js";
import { thread } from "./thread.js";
import { setToolViews, type ToolViews } from "./tool-value.js";
import { recallToken, tokenForm } from "./token-form.js";
import type { Composer } from "./composer.js";
import "./composer.js";
import "./sidebar.js";

/** The focused input: a message that is being edited, or else the composer. */
const WRITING = "textarea";
const MENU = ".menu";
const NEAR_TOP_PX = 400;
/** The width up to which the list is a drawer; the same as in narrow.css. */
const DRAWER_PX = 760;
/** Rows that open and close. */
const ROWS = ".toggle, summary, .fold";

export type ChatLayout = "page" | "panel" | "bubble";

export class HeadraceChat extends LitElement {
  static override styles = styles;
  static override properties = {
    base: { type: String },
    routes: { type: Boolean },
    theme: { type: String, reflect: true },
    heading: { type: String },
    layout: { type: String, reflect: true },
    agent: { type: String },
    conversation: { type: String, noAccessor: true },
    accessToken: { attribute: false },
    toolViews: { attribute: false, noAccessor: true },
    isDrawerOpen: { state: true },
    isBubbleOpen: { state: true },
  };
  declare base: string;
  declare routes: boolean;
  declare theme: string;
  declare heading: string;
  declare layout: ChatLayout;
  /** Name of the model to ask. The user has no choice then. */
  declare agent: string | undefined;
  declare isDrawerOpen: boolean;
  declare isBubbleOpen: boolean;
  /** The access token, or a function that returns one, now or later. By default users sign in. */
  declare accessToken: string | (() => string | null | Promise<string | null>) | undefined;
  /** The state that the components draw; public for tests and embedders. */
  chat!: Chat;
  #live = new LiveRegion();
  #openId: string | null = null;
  #wantedId: string | null = null;
  #firstId: string | undefined;
  #wasPending = false;
  /** Whether the user has done anything here: before that, the focus belongs to the page around. */
  #isUsed = false;
  #sizes = new ResizeObserver(() => this.#resized());
  #follow = new Follow(() => {
    if (this.renderRoot.querySelector(".jump:focus-visible")) this.#focus();
    this.requestUpdate();
  });

  constructor() {
    super();
    this.base = "";
    this.routes = false;
    this.heading = "What shall we think about?";
    this.layout = "page";
    this.isDrawerOpen = this.isBubbleOpen = false;
  }

  /** Id of the open conversation; null for a new one. Set it to open another. */
  get conversation(): string | null {
    return this.chat?.store.open?.conversation.id ?? this.#wantedId;
  }

  set conversation(id: string | null) {
    this.#wantedId = id || null;
    if (this.chat && this.#wantedId !== (this.chat.store.open?.conversation.id ?? null)) void this.chat.show(this.#wantedId);
  }

  /** Components of the page for the results of tools, by name of the tool. */
  set toolViews(views: ToolViews) {
    setToolViews(this, views);
    this.requestUpdate();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.chat = new Chat(
      new API(this.base, () => this.#token()),
      () => this.requestUpdate(),
      (text) => this.#live.say(text),
      (id) => this.#opened(id),
      (news) => this.#tell(news),
    );
    addEventListener("hashchange", this.#routed);
    // A page of its own has the keys everywhere; in a page of somebody else only what has the focus has them.
    (this.routes ? document : this).addEventListener("keydown", this.#key as (event: Event) => void);
    for (const name of ["pointerdown", "keydown", "focusin"]) this.addEventListener(name, this.#used);
    this.#sizes.observe(this);
    document.addEventListener("visibilitychange", this.#seen);
    this.addEventListener("headrace-announce", this.#announced);
    // Properties that were set before the script was there are known after the first update.
    void this.updateComplete.then(() => this.#start());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.#routed);
    for (const place of [document, this]) place.removeEventListener("keydown", this.#key as (event: Event) => void);
    this.#sizes.disconnect();
    document.removeEventListener("visibilitychange", this.#seen);
    this.#follow.detach();
    this.chat.close();
  }

  override firstUpdated(): void {
    if (this.routes && !matchMedia("(pointer: coarse)").matches) this.#focus();
  }

  #used = (): void => void (this.#isUsed = true);

  #token(): string | null | Promise<string | null> {
    const { accessToken } = this;
    if (accessToken === undefined) return recallToken();
    return typeof accessToken === "function" ? accessToken() : accessToken;
  }

  #tell({ type, ...detail }: ChatNews): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: type !== "error", composed: true }));
  }

  /** Messages that are added above must not move what is being read. */
  override willUpdate(): void {
    const ids = this.chat.store.branch.map((one) => one.id);
    const scroller = this.renderRoot.querySelector<HTMLElement>(".scroller");
    const hasGrown = this.#firstId !== undefined && ids.indexOf(this.#firstId) > 0;
    if (hasGrown && scroller && !this.#follow.isFollowing) void this.updateComplete.then(keepInPlace(scroller));
    this.#firstId = ids[0];
    this.#follow.isPaused = this.#isBlank;
    const isPending = this.chat.pending !== null;
    // What was just asked is shown, wherever the reader was.
    if (isPending && !this.#wasPending) {
      this.#follow.release();
      this.#follow.isFollowing = true;
      void this.updateComplete.then(() => this.#follow.moved());
    }
    this.#wasPending = isPending;
  }

  get #isBlank(): boolean {
    const { chat } = this;
    return chat.store.branch.length === 0 && !chat.pending && !chat.failed;
  }

  override updated(): void {
    const scroller = this.renderRoot.querySelector<HTMLElement>(".scroller");
    if (scroller) this.#follow.attach(scroller);
    this.#live.attach(this.renderRoot.querySelector<HTMLElement>(".live-region"));
    const { activeElement } = this.shadowRoot!;
    // A hidden element keeps the focus for a moment longer.
    if (activeElement?.closest("[hidden]")) (activeElement as HTMLElement).blur();
    const token = this.renderRoot.querySelector<HTMLElement>(".token input");
    if (token && (this.routes || this.#isUsed)) passFocus(() => token);
    if (this.routes) document.title = this.chat.store.open?.conversation.title || "Headrace";
  }

  override render(): TemplateResult {
    if (this.layout === "bubble" && !this.isBubbleOpen) return this.#bubble();
    const { chat, isDrawerOpen } = this;
    const open = chat.store.open;
    const needsToken = [chat.problem, chat.failed?.error].some((one) => one instanceof Refused && one.status === 401);
    return html`<div class="chat ${isDrawerOpen ? "drawer-open" : ""}">
      <button class="skip" type="button" @click=${() => this.#focus()}>Skip to the message field</button>
      <headrace-sidebar part="sidebar" role=${isDrawerOpen ? "dialog" : nothing} aria-modal=${isDrawerOpen || nothing}
        aria-label=${isDrawerOpen ? "Conversations" : nothing} .chat=${chat} .conversations=${chat.store.conversations} .openId=${open?.conversation.id ?? null}
        .loadingId=${chat.loadingId} .isListed=${chat.isListed}
        .leave=${(id: string | null) => this.#drawer(false, id && this.isDrawerOpen ? MENU : WRITING)}></headrace-sidebar>
      <button class="veil" type="button" tabindex="-1" aria-label="Close the list" @click=${() => this.#drawer(false)}></button>
      <main ?inert=${isDrawerOpen} @dragover=${this.#dragged} @drop=${this.#dropped}>
        <header part="header">
          <button class="quiet menu" type="button" aria-label="Conversations" aria-expanded=${isDrawerOpen}
            @click=${() => this.#drawer(true)}>${icon("menu")}</button>
          <h1 dir="auto">${open?.conversation.title || "Headrace"}</h1>
          ${open ? this.#exportButton(open.conversation.id, open.conversation.title) : nothing}
          ${this.layout === "bubble" ? html`<button class="quiet" type="button" aria-label="Close the chat" @click=${() => this.#setBubble(false)}>${icon("close")}</button>` : nothing}
        </header>
        ${needsToken ? tokenForm(() => this.#admitted()) : nothing}${this.#conversation(needsToken)}
      </main>
      <div class="live-region" role="status" aria-live="polite"></div>
    </div>`;
  }

  #bubble(): TemplateResult {
    return html`<button class="bubble" part="bubble" type="button" aria-label="Open the chat" @click=${() => this.#setBubble(true)}>${icon("chat")}</button>`;
  }

  #setBubble(isOpen: boolean): void {
    this.isBubbleOpen = isOpen;
    this.#focus(isOpen ? WRITING : ".bubble");
  }

  /** Kept while signing in, together with unsent text. */
  #conversation(isHidden: boolean): TemplateResult {
    const { chat } = this;
    const isLoading = chat.loadingId !== null && chat.loadingId !== chat.store.open?.conversation.id;
    return html`<div class="scroller" tabindex="-1" ?hidden=${isHidden} @scroll=${this.#scrolled} @headrace-placed=${() => this.#follow.placed()} @click=${this.#clicked}>
        <div class="thread ${this.#isBlank ? "blank" : ""}" part="thread">${isLoading ? skeleton("Loading the conversation") : this.#isBlank ? blank(chat, this.heading) : thread(chat)}</div>
      </div>
      <div class="bottom" ?hidden=${isHidden}>
        ${this.#follow.isFollowing || this.#isBlank ? nothing : html`<button class="jump" type="button" @click=${() => this.#follow.toEnd()}>${icon("down")}<span>Latest</span></button>`}
        ${chat.problem && !isHidden ? refusal("That did not work.", chat.problem, () => this.#start()) : nothing}
        ${chat.isOnline ? nothing : html`<p class="offline" role="status">${navigator.onLine ? "No connection to the server. Reconnecting…" : "You are offline. The answer continues on the server and is shown when you are back."}</p>`}
        <headrace-composer .chat=${chat} .models=${chat.choice.models} .draftKey=${chat.store.open?.conversation.id ?? "new"} .isBusy=${chat.isBusy}
          .returned=${chat.returned} .taken=${chat.taken} .queued=${chat.queue.list} .model=${chat.choice.model} .effort=${chat.choice.effort}></headrace-composer>
      </div>`;
  }

  #dragged(event: DragEvent): void {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  }

  #dropped(event: DragEvent): void {
    const files = event.dataTransfer?.files;
    if (!files?.length) return;
    event.preventDefault();
    void this.renderRoot.querySelector<Composer>("headrace-composer")?.attach(files);
  }

  #scrolled(event: Event): void {
    const isNearTop = (event.target as HTMLElement).scrollTop < NEAR_TOP_PX;
    if (isNearTop && !this.#follow.isFollowing && this.chat.store.hasEarlier) void this.#loadEarlier();
  }

  #clicked(event: Event): void {
    const clicked = event.target as HTMLElement;
    if (clicked.closest("[data-earlier]")) void this.#loadEarlier();
    const row = clicked.closest(ROWS);
    if (row && !row.closest(".window")) this.#follow.hold(row);
  }

  /** Load earlier messages above. */
  async #loadEarlier(): Promise<void> {
    if (this.chat.isExtending) return;
    this.#follow.isFollowing = false;
    await this.chat.earlier();
  }

  #exportButton(id: string, title: string): TemplateResult {
    return html`<button class="quiet" type="button" aria-label="Export as Markdown" title="Export as Markdown"
      @click=${() => void import("./download.js").then(({ download }) => download(this.chat.api, id, title))}>${icon("export")}</button>`;
  }

  // -- what happens around it

  #announced = (event: Event): void => this.#live.say(String((event as CustomEvent).detail));

  #seen = (): void => {
    if (document.visibilityState === "visible") void this.chat.refresh();
  };

  #key = (event: KeyboardEvent): void => {
    if (event.defaultPrevented) return;
    if (keyOf(event) === "Escape") this.#escape();
    const isCommand = (event.ctrlKey || event.metaKey) && event.shiftKey;
    if (isCommand && event.key.toLowerCase() === "o") {
      event.preventDefault();
      void this.chat.show(null);
      this.#focus();
    }
  };

  /** Close what is open, or stop the answer. */
  #escape(): void {
    if (this.isDrawerOpen) return this.#drawer(false);
    if (this.chat.isBusy) return void this.chat.stop().then(() => passFocus(() => this.renderRoot.querySelector<HTMLElement>(WRITING)));
    if (this.layout === "bubble" && this.isBubbleOpen) this.#setBubble(false);
  }

  /** A wider box has no drawer, and nothing may be inert. */
  #resized(): void {
    if (this.isDrawerOpen && this.clientWidth > DRAWER_PX && this.layout === "page") this.isDrawerOpen = false;
  }

  #drawer(isOpen: boolean, next = isOpen ? ".new" : MENU): void {
    this.isDrawerOpen = isOpen;
    this.#focus(next);
  }

  #focus(next = WRITING): void {
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(next)?.focus());
  }

  /** The access token has changed. Unsent text is in the composer. */
  #admitted(): void {
    this.chat.problem = this.chat.failed = null;
    this.#start();
  }

  /** The pressed button is gone when this happens. */
  #start(): void {
    this.chat.choice.fixed = this.agent;
    void this.chat.start(this.#routeId() ?? this.#wantedId).then(() => {
      if (this.routes || this.#isUsed) passFocus(() => this.renderRoot.querySelector<HTMLElement>(WRITING));
    });
  }

  // -- the address

  #routeId(): string | null {
    return this.routes ? (/^#\/c\/([\w-]+)$/.exec(location.hash)?.[1] ?? null) : null;
  }

  #routed = (): void => {
    if (!this.routes) return;
    const id = this.#routeId();
    if (id !== (this.chat.store.open?.conversation.id ?? null)) void this.chat.show(id);
  };

  #opened(id: string | null): void {
    if (id !== this.#openId) {
      this.#follow.isFollowing = true;
      this.#follow.release();
      this.#tell({ type: "conversation-changed", conversationId: id });
    }
    this.#openId = this.#wantedId = id;
    if (!this.routes || id === this.#routeId()) return;
    history.pushState(null, "", id === null ? location.pathname + location.search : `#/c/${id}`);
  }
}

define("headrace-chat", HeadraceChat);
