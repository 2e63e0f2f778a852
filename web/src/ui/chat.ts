/** `<headrace-chat>`: the whole chat as one element for any page of the same origin.
 *
 * Attributes: `base`, the server's address relative to the page; `routes`, to keep the open conversation in the
 * page's address; `theme`, `light` or `dark` (default: the system's); `heading`, the text of an empty chat. */

import { html, LitElement, nothing, type TemplateResult } from "lit";
import { API, Refused } from "../core/api.js";
import { Chat } from "../core/chat.js";
import { define, keyOf, passFocus } from "./element.js";
import { Follow } from "./follow.js";
import { icon } from "./icon.js";
import { keepInPlace } from "./keep-in-place.js";
import { LiveRegion } from "./live-region.js";
import { refusal } from "./notice.js";
import { styles } from "./style.js";
import { thread } from "./thread.js";
import { recallToken, tokenForm } from "./token-form.js";
import "./composer.js";
import "./sidebar.js";

const REHEARSAL_TRIES = [
  "What is 12 × 34 + 5?",
  "parallel: what time is it, and how much is 2^10?",
  "Write a long answer, please: long",
  "help",
];
const TRIES = [
  "Compare two ways to sort a large file.",
  "Explain what a headrace does, to a child.",
  "What is 17 % of 2,340, and why?",
  "Plan three days in Oslo in November.",
];

/** The focused input: a message that is being edited, or else the composer. */
const WRITING = "textarea";
const MENU = ".menu";
const NEAR_TOP_PX = 400;

export class HeadraceChat extends LitElement {
  static override styles = styles;
  static override properties = {
    base: { type: String },
    routes: { type: Boolean },
    theme: { type: String, reflect: true },
    heading: { type: String },
    isDrawerOpen: { state: true },
  };
  declare base: string;
  declare routes: boolean;
  declare theme: string;
  declare heading: string;
  declare isDrawerOpen: boolean;
  /** The state that the components draw; public for tests and embedders. */
  chat!: Chat;
  #live = new LiveRegion();
  #openId: string | null = null;
  #firstId: string | undefined;
  #follow = new Follow(() => {
    if (this.renderRoot.querySelector(".jump:focus-visible")) this.#focus();
    this.requestUpdate();
  });

  constructor() {
    super();
    this.base = "";
    this.routes = false;
    this.heading = "What shall we think about?";
    this.isDrawerOpen = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.chat = new Chat(
      new API(this.base, recallToken),
      () => this.requestUpdate(),
      (text) => this.#live.say(text),
      (id) => this.#opened(id),
    );
    addEventListener("hashchange", this.#routed);
    document.addEventListener("visibilitychange", this.#seen);
    this.addEventListener("headrace-announce", this.#announced);
    this.#start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.#routed);
    document.removeEventListener("visibilitychange", this.#seen);
    this.#follow.detach();
    this.chat.close();
  }

  override firstUpdated(): void {
    this.#live.attach(this.renderRoot.querySelector<HTMLElement>(".live-region"));
    this.#focus();
  }

  /** Messages that are added above must not move what is being read. */
  override willUpdate(): void {
    const ids = this.chat.store.branch.map((one) => one.id);
    const scroller = this.renderRoot.querySelector<HTMLElement>(".scroller");
    const hasGrown = this.#firstId !== undefined && ids.indexOf(this.#firstId) > 0;
    if (hasGrown && scroller && !this.#follow.isFollowing) void this.updateComplete.then(keepInPlace(scroller));
    this.#firstId = ids[0];
  }

  override updated(): void {
    this.#follow.attach(this.renderRoot.querySelector<HTMLElement>(".scroller")!);
    const { activeElement } = this.shadowRoot!;
    // A hidden element keeps the focus for a moment longer.
    if (activeElement?.closest("[hidden]")) (activeElement as HTMLElement).blur();
    const token = this.renderRoot.querySelector<HTMLElement>(".token input");
    if (token) passFocus(() => token);
    if (this.routes) document.title = this.chat.store.open?.conversation.title || "Headrace";
  }

  override render(): TemplateResult {
    const { chat, isDrawerOpen } = this;
    const open = chat.store.open;
    const needsToken = [chat.problem, chat.failed?.error].some((one) => one instanceof Refused && one.status === 401);
    return html`<div class="chat ${isDrawerOpen ? "drawer-open" : ""}" @keydown=${this.#key}>
      <headrace-sidebar role=${isDrawerOpen ? "dialog" : nothing} aria-modal=${isDrawerOpen || nothing}
        aria-label=${isDrawerOpen ? "Conversations" : nothing} .chat=${chat} .conversations=${chat.store.conversations} .openId=${open?.conversation.id ?? null}
        .leave=${(id: string | null) => this.#drawer(false, id && this.isDrawerOpen ? MENU : WRITING)}></headrace-sidebar>
      <button class="veil" type="button" tabindex="-1" aria-label="Close the list" @click=${() => this.#drawer(false)}></button>
      <main ?inert=${isDrawerOpen}>
        <header>
          <button class="quiet menu" type="button" aria-label="Conversations" aria-expanded=${isDrawerOpen}
            @click=${() => this.#drawer(true)}>${icon("menu")}</button>
          <h1>${open?.conversation.title || "Headrace"}</h1>
          ${open ? this.#exportButton(open.conversation.id, open.conversation.title) : nothing}
        </header>
        ${needsToken ? tokenForm(() => this.#admitted()) : nothing}${this.#conversation(needsToken)}
      </main>
      <div class="live-region" role="status" aria-live="polite"></div>
    </div>`;
  }

  /** Kept while signing in, together with unsent text. */
  #conversation(isHidden: boolean): TemplateResult {
    const { chat } = this;
    const isEmpty = chat.store.branch.length === 0 && !chat.pending && !chat.failed;
    return html`<div class="scroller" tabindex="-1" ?hidden=${isHidden} @scroll=${this.#scrolled} @click=${this.#clicked}>
        <div class="thread ${isEmpty ? "blank" : ""}">${chat.problem ? refusal("That did not work.", chat.problem, () => this.#start()) : nothing}${isEmpty ? this.#blank() : thread(chat)}</div>
      </div>
      <div class="bottom" ?hidden=${isHidden}>
        ${this.#follow.isFollowing ? nothing : html`<button class="jump" type="button" @click=${() => this.#follow.toEnd()}>${icon("down")}<span>Latest</span></button>`}
        ${chat.isOnline ? nothing : html`<p class="offline" role="status">No connection. The answer goes on at the server; it is taken up when the connection is back.</p>`}
        <headrace-composer .chat=${chat} .models=${chat.models} .draftKey=${chat.store.open?.conversation.id ?? "new"} .isBusy=${chat.isBusy}
          .returned=${chat.returned}></headrace-composer>
      </div>`;
  }

  #scrolled(event: Event): void {
    const isNearTop = (event.target as HTMLElement).scrollTop < NEAR_TOP_PX;
    if (isNearTop && !this.#follow.isFollowing && this.chat.store.hasEarlier) void this.#loadEarlier();
  }

  #clicked(event: Event): void {
    if ((event.target as HTMLElement).closest("[data-earlier]")) void this.#loadEarlier();
  }

  /** Load earlier messages above. */
  async #loadEarlier(): Promise<void> {
    if (this.chat.isExtending) return;
    this.#follow.isFollowing = false;
    await this.chat.earlier();
  }

  #blank(): TemplateResult | typeof nothing {
    const model = this.chat.models[0];
    if (!model) return nothing;
    const tries = model.is_rehearsal ? REHEARSAL_TRIES : TRIES;
    return html`<section class="hello">
      <h2>${this.heading}</h2>
      <p>${model.model}${model.is_rehearsal ? ": a stand-in that rehearses answers. No language model reads what you write." : ""}</p>
      <ul>${tries.map((text) => html`<li><button type="button" @click=${() => void this.chat.send(text)}>${text}</button></li>`)}</ul>
    </section>`;
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

  #key(event: KeyboardEvent): void {
    if (keyOf(event) === "Escape" && this.isDrawerOpen) this.#drawer(false);
    const isCommand = (event.ctrlKey || event.metaKey) && event.shiftKey;
    if (isCommand && event.key.toLowerCase() === "o") {
      event.preventDefault();
      void this.chat.show(null);
      this.#focus();
    }
  }

  #drawer(isOpen: boolean, next = isOpen ? ".new" : MENU): void {
    this.isDrawerOpen = isOpen;
    this.#focus(next);
    // On a larger or rotated screen there is no drawer, and nothing may be inert.
    if (isOpen) matchMedia("(max-width: 760px)").addEventListener("change", () => (this.isDrawerOpen = false), { once: true });
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
    void this.chat.start(this.#routeId()).then(() => passFocus(() => this.renderRoot.querySelector<HTMLElement>(WRITING)));
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
    if (id !== this.#openId) this.#follow.isFollowing = true;
    this.#openId = id;
    if (!this.routes || id === this.#routeId()) return;
    history.pushState(null, "", id === null ? location.pathname + location.search : `#/c/${id}`);
  }
}

define("headrace-chat", HeadraceChat);
