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
import { keep, recall } from "../core/preferences.js";
import { dollars, formatNumber, percent } from "../core/format.js";
import { languageFor, shownLanguage, t, useLanguage } from "../languages/language.js";
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
import type { AssistantMessage } from "./assistant-message.js";
import type { Composer } from "./composer.js";
import "./composer.js";
import "./sidebar.js";

/** The focused input: a message that is being edited, or else the composer. */
const WRITING = "textarea";
const MENU = ".menu";
/** The name under which the access token is kept. */
const TOKEN = "token";
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
    isCollapsed: { state: true },
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
  declare isCollapsed: boolean;
  /** The access token, or a function that returns one, now or later. By default users sign in. */
  declare accessToken: string | (() => string | null | Promise<string | null>) | undefined;
  /** The state that the components draw; public for tests and embedders. */
  chat!: Chat;
  #live = new LiveRegion();
  #openId: string | null = null;
  #wantedId: string | null = null;
  #firstId: string | undefined;
  #wasPending = false;
  #language: Promise<void> | undefined;
  #languageName = "en";
  #found: Chat["found"] = null;
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
    this.heading = "";
    this.isCollapsed = recall("list") === "hidden";
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
      () => {
        const { theme = "", language = "" } = this.chat.settings.values;
        if (this.chat.account) this.#applySettings(theme, language);
        this.requestUpdate();
      },
      (text) => this.#live.say(text),
      (id) => this.#opened(id),
      (news) => this.#tell(news),
    );
    this.#applySettings(recall("theme"), recall("language"));
    addEventListener("hashchange", this.#routed);
    this.addEventListener("click", this.#opensDialog);
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
    this.removeEventListener("click", this.#opensDialog);
    for (const place of [document, this]) place.removeEventListener("keydown", this.#key as (event: Event) => void);
    this.#sizes.disconnect();
    document.removeEventListener("visibilitychange", this.#seen);
    this.#follow.detach();
    this.chat.close();
  }

  override firstUpdated(): void {
    if (this.routes && !matchMedia("(pointer: coarse)").matches) this.#focus();
  }

  /** Nothing is drawn before the language is there. */
  protected override async scheduleUpdate(): Promise<void> {
    if (this.#language) await this.#language;
    super.scheduleUpdate();
  }

  /** Show the colors and the language that the user has set. Colors of an embedded chat belong to the page around it. */
  #applySettings(theme: string, language: string): void {
    keep("theme", theme);
    keep("language", language);
    if (this.routes) {
      this.theme = theme === "light" || theme === "dark" ? theme : "";
      document.documentElement.dataset["theme"] = this.theme;
    }
    const name = languageFor(language);
    if (name === this.#languageName) return;
    this.#languageName = name;
    if (this.routes) document.documentElement.lang = name;
    this.#language = useLanguage(name).then((hasChanged) => {
      this.#language = undefined;
      this.lang = shownLanguage();
      if (!hasChanged) return;
      for (const one of [this, ...this.renderRoot.querySelectorAll("*")]) if (one instanceof LitElement) one.requestUpdate();
      this.renderRoot.querySelector("dialog")?.dispatchEvent(new Event("headrace-redraw"));
    });
  }

  #used = (): void => void (this.#isUsed = true);

  #token(): string | null | Promise<string | null> {
    const { accessToken } = this;
    if (accessToken === undefined) return recall(TOKEN) || null;
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
    const isPending = this.chat.asking.pending !== null;
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
    return chat.store.branch.length === 0 && !chat.asking.pending;
  }

  override updated(): void {
    const scroller = this.renderRoot.querySelector<HTMLElement>(".scroller");
    if (scroller) this.#follow.attach(scroller);
    this.#live.attach(this.renderRoot.querySelector<HTMLElement>(".live-region"));
    const { activeElement } = this.shadowRoot!;
    // A hidden element keeps the focus for a moment longer.
    if (activeElement?.closest("[hidden]")) (activeElement as HTMLElement).blur();
    this.#reveal();
    if (this.routes) document.title = `${this.chat.isAsked ? "● " : ""}${this.chat.store.open?.conversation.title || "Headrace"}`;
  }

  override render(): TemplateResult {
    if (this.layout === "bubble" && !this.isBubbleOpen) return this.#bubble();
    const { chat, isDrawerOpen } = this;
    const open = chat.store.open;
    const refused = [chat.problem, chat.asking.failed?.error].find((one) => one instanceof Refused && one.status === 401) as Refused | undefined;
    const label = this.isCollapsed ? t.showList : t.hideList;
    return html`<div class="chat ${isDrawerOpen ? "drawer-open" : ""} ${this.isCollapsed ? "collapsed" : ""} ${refused ? "locked" : ""}">
      <button class="skip" type="button" @click=${() => this.#focus()}>${t.skip}</button>
      <headrace-sidebar part="sidebar" role=${isDrawerOpen ? "dialog" : nothing} aria-modal=${isDrawerOpen || nothing}
        aria-label=${isDrawerOpen ? t.conversations : nothing} .chat=${chat} .conversations=${chat.store.conversations} .pinned=${chat.store.pinned} .removed=${chat.removed} .states=${chat.store.states} .openId=${open?.conversation.id ?? null}
        .loadingId=${chat.loadingId} .isListed=${chat.list.isLoaded}
        .leave=${(id: string | null) => this.#drawer(false, id && this.isDrawerOpen ? MENU : WRITING)}></headrace-sidebar>
      <button class="veil" type="button" tabindex="-1" aria-label=${t.closeList} @click=${() => this.#drawer(false)}></button>
      <main ?inert=${isDrawerOpen} @dragover=${this.#dragged} @drop=${this.#dropped}>
        <header part="header">
          <button class="quiet collapse" type="button" aria-label=${label} title="${label} (Ctrl+B)" aria-expanded=${!this.isCollapsed} @click=${() => this.#collapse()}>${icon("panel")}</button>
          <button class="quiet menu" type="button" aria-label=${t.conversations} aria-expanded=${isDrawerOpen}
            @click=${() => this.#drawer(true)}>${icon("menu")}</button>
          <h1 dir="auto">${open?.conversation.title || "Headrace"}</h1>
          ${this.#gauge()}
          ${open ? html`<button class="quiet begin" type="button" aria-label=${t.newConversation} title="${t.newConversation} (Ctrl+Shift+O)" @click=${() => this.#begin()}>${icon("plus")}</button>
          <button class="quiet" type="button" aria-label=${t.export} title=${t.export} data-dialog="export">${icon("export")}</button>` : nothing}
          ${this.layout === "bubble" ? html`<button class="quiet" type="button" aria-label=${t.closeChat} @click=${() => this.#setBubble(false)}>${icon("close")}</button>` : nothing}
        </header>
        ${refused ? this.#signIn(refused) : nothing}${this.#conversation(refused !== undefined)}
      </main>
      ${this.#toast()}
      <div class="live-region" role="status" aria-live="polite"></div>
    </div>`;
  }

  #bubble(): TemplateResult {
    return html`<button class="bubble" part="bubble" type="button" aria-label=${t.openChat} @click=${() => this.#setBubble(true)}>${icon("chat")}</button>`;
  }

  #setBubble(isOpen: boolean): void {
    this.isBubbleOpen = isOpen;
    this.#focus(isOpen ? WRITING : ".bubble");
  }

  /** Kept while signing in, together with unsent text. */
  #conversation(isHidden: boolean): TemplateResult {
    const { chat } = this;
    const isLoading = chat.loadingId !== null && chat.loadingId !== chat.store.open?.conversation.id;
    return html`<div class="scroller" tabindex="-1" ?hidden=${isHidden} @scroll=${this.#scrolled} @headrace-placed=${() => this.#follow.placed()} @headrace-asked=${(event: Event) => this.#follow.asked(event.target as HTMLElement)} @click=${this.#clicked}>
        <div class="thread ${this.#isBlank ? "blank" : ""}" part="thread">${isLoading ? skeleton(t.loadingConversation) : this.#isBlank ? blank(chat, this.heading || t.heading) : thread(chat)}</div>
      </div>
      <div class="bottom" ?hidden=${isHidden}>
        ${this.#follow.isFollowing || this.#isBlank ? nothing : html`<button class="jump" type="button" @click=${() => this.#follow.toEnd()}>${icon("down")}<span>${t.latest}</span></button>`}
        ${chat.problem && !isHidden ? refusal(t.failed, chat.problem, () => this.#start()) : nothing}
        ${isHidden ? nothing : this.#notSent()}
        ${chat.isOnline ? nothing : html`<p class="offline" role="status">${navigator.onLine ? t.reconnecting : t.offline}</p>`}
        <headrace-composer .chat=${chat} .models=${chat.choice.models} .draftKey=${chat.store.open?.conversation.id ?? "new"} .isBusy=${chat.isBusy} .isAsked=${chat.isAsked}
          .returned=${chat.asking.returned} .taken=${chat.asking.taken} .queued=${chat.queue.list} .said=${chat.queue.said} .model=${chat.choice.model} .effort=${chat.choice.effort} .sendKey=${chat.settings.values.send_key}></headrace-composer>
      </div>`;
  }

  /** Why the text is still in the composer. */
  #notSent(): TemplateResult | typeof nothing {
    const { asking, store } = this.chat;
    const { failed } = asking;
    if (!failed || failed.conversationId !== (store.open?.conversation.id ?? null)) return nothing;
    return refusal(t.notSent, failed.error, () => void asking.retry());
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

  /** How full the context is, and what the conversation has cost. */
  #gauge(): TemplateResult | typeof nothing {
    const { store, choice } = this.chat;
    const { context_tokens: used, total_tokens: total, cost } = store.open?.conversation ?? {};
    if (!used && !total) return nothing;
    const size = choice.chosen?.context_window;
    const share = used && size ? used / size : undefined;
    const price = cost ? dollars(cost) : "";
    const context = !used ? "" : size ? t.gauge(formatNumber(used), formatNumber(size)) : t.contextUsed(formatNumber(used));
    const told = [context, total ? t.spent(total, price) : ""].filter(Boolean).join(". ");
    const ring = html`<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle class="track" cx="8" cy="8" r="6" /><circle cx="8" cy="8" r="6" pathLength="100" stroke-dasharray="${Math.min(100, (share ?? 0) * 100)} 100" transform="rotate(-90 8 8)" /></svg>`;
    return html`<span class="gauge" role="img" aria-label=${told} title=${told}>${share === undefined ? nothing : html`${ring}${percent(share)}`}<span>${price || (share === undefined && total ? t.tokens(total) : "")}</span></span>`;
  }

  #signIn(refused: Refused): TemplateResult {
    void import("./sign-in.js");
    return html`<headrace-sign-in .api=${this.chat.api} .ways=${refused.waysIn} .takesFocus=${this.routes || this.#isUsed} .done=${() => this.#admitted()}></headrace-sign-in>`;
  }

  /** What was deleted, as long as it can be undone. */
  #toast(): TemplateResult | typeof nothing {
    const last = this.chat.removed.at(-1);
    if (!last) return nothing;
    return html`<aside class="toast" aria-label=${t.undo}><span dir="auto">${t.deleted(last.title || t.untitled)}</span><button class="plain" type="button" @click=${() => this.#undo(last.id)}>${t.undo}</button></aside>`;
  }

  #undo(id: string): void {
    void this.chat.undelete(id).then(() => passFocus(() => this.renderRoot.querySelector<HTMLElement>(`[data-id="${id}"]`)));
  }

  /** Begin a new conversation, as the button in the list does. */
  #begin(): void {
    this.renderRoot.querySelector<HTMLElement>("headrace-sidebar .new")?.click();
  }

  #collapse(): void {
    this.isCollapsed = !this.isCollapsed;
    keep("list", this.isCollapsed ? "hidden" : "");
  }

  /** Scroll to what a search has found. */
  #reveal(): void {
    const { found } = this.chat;
    if (found === this.#found || this.chat.loadingId) return;
    this.#found = found;
    if (!found) return;
    this.#follow.isFollowing = false;
    void import("./found.js").then(({ reveal }) => reveal(this.renderRoot, found.messageId, found.words));
  }

  /** Buttons anywhere in the chat open a dialog by its name. */
  #opensDialog = (event: Event): void => {
    const button = event.composedPath().find((one) => one instanceof HTMLElement && one.dataset["dialog"]) as HTMLElement | undefined;
    const answer = button?.closest<AssistantMessage>("headrace-assistant-message");
    if (button) void this.#dialog(button.dataset["dialog"] ?? "", answer?.event?.run_id ?? "");
  };

  async #dialog(name: string, runId?: string): Promise<void> {
    const { openDialog } = await import("./dialogs/dialog.js");
    await openDialog(this.renderRoot as ShadowRoot, this.chat, name, runId);
  }

  // -- what happens around it

  #announced = (event: Event): void => this.#live.say(String((event as CustomEvent).detail));

  #seen = (): void => {
    if (document.visibilityState === "visible") void this.chat.refresh();
  };

  #key = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || this.renderRoot.querySelector("dialog")) return;
    if (keyOf(event) === "Escape") this.#escape();
    const isWriting = event.composedPath()[0] instanceof HTMLElement && (event.composedPath()[0] as HTMLElement).matches("input, textarea, select");
    const mod = event.ctrlKey || event.metaKey ? (event.shiftKey ? "shift+" : "mod+") : isWriting ? "-" : "";
    const actions: Record<string, () => unknown> = {
      "shift+o": () => this.#begin(),
      "mod+b": () => this.#collapse(),
      "mod+k": () => this.#toSearch(),
      "mod+,": () => this.#dialog("settings"),
      "?": () => this.#dialog("shortcuts"),
    };
    const act = actions[mod + keyOf(event).toLowerCase()];
    if (!act) return;
    event.preventDefault();
    void act();
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

  #toSearch(): void {
    if (this.isCollapsed) this.#collapse();
    if (this.clientWidth <= DRAWER_PX) this.isDrawerOpen = true;
    this.#focus(".search input");
  }

  #focus(next = WRITING): void {
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(next)?.focus());
  }

  /** The access token has changed. Unsent text is in the composer. */
  #admitted(): void {
    this.chat.problem = this.chat.asking.failed = null;
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
