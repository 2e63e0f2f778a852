/** Keeps a scroll container at its end, until the reader scrolls up, and again once the reader returns to the end. */

const NEAR_PX = 24;

export class Follow {
  #place: HTMLElement | undefined;
  // Elements render at any time and blocks are measured when they become visible, so only the resulting size
  // tells that there is more.
  #sizes = new ResizeObserver(() => this.moved());
  #lastTop = 0;
  isFollowing = true;
  /** An empty page is read from its top. */
  isPaused = false;
  /** Requests that wait for the reader, the first one first. */
  #asked: HTMLElement[] = [];

  constructor(readonly changed: () => void = () => undefined) {}

  attach(place: HTMLElement): void {
    if (this.#place === place) return;
    this.detach();
    this.#place = place;
    place.addEventListener("scroll", this.#scrolled, { passive: true });
    this.#sizes.observe(place);
    if (place.firstElementChild) this.#sizes.observe(place.firstElementChild);
    this.isFollowing = true;
    this.moved();
  }

  detach(): void {
    this.#place?.removeEventListener("scroll", this.#scrolled);
    this.#sizes.disconnect();
    this.#place = undefined;
  }

  /** The container or its content has changed its size. */
  moved(): void {
    if (!this.isFollowing || this.isPaused) return;
    this.#asked = this.#asked.filter((one) => one.isConnected && one.querySelector(".open"));
    const [first] = this.#asked;
    if (first) this.#toRequest(first);
    else this.toEnd();
  }

  /** A request is there: what it asks is shown from its beginning, and nothing scrolls past it until it is answered. */
  asked(row: HTMLElement): void {
    this.#asked.push(row);
    this.moved();
  }

  #toRequest(row: HTMLElement): void {
    const place = this.#place;
    if (!place) return;
    // The steps above it stay in sight.
    const above = (row.previousElementSibling as HTMLElement | null)?.offsetHeight ?? 0;
    const distance = row.getBoundingClientRect().top - place.getBoundingClientRect().top - above - NEAR_PX;
    // Not back: the reader may have gone on to the next one.
    if (distance > 0) place.scrollTop += distance;
    this.#lastTop = place.scrollTop;
  }

  /** Leave what the reader has clicked where it is, while it opens or closes. */
  hold(row: globalThis.Element): void {
    const place = this.#place;
    if (!place) return;
    const { top } = row.getBoundingClientRect();
    // What closes may leave less to scroll than it takes to stay.
    (place.firstElementChild as HTMLElement).style.minHeight = `${place.scrollTop + place.clientHeight}px`;
    this.isFollowing = false;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (row.isConnected) place.scrollTop += row.getBoundingClientRect().top - top;
      this.#lastTop = place.scrollTop;
      this.isFollowing = this.#isNear(place);
      this.changed();
    }));
  }

  /** Give back the space that was held for a row. */
  release(): void {
    if (this.#place) (this.#place.firstElementChild as HTMLElement).style.minHeight = "";
  }

  #isNear(place: HTMLElement): boolean {
    return place.scrollHeight - place.scrollTop - place.clientHeight < NEAR_PX;
  }

  /** The script has scrolled, to keep something in its place: that is no choice of the reader. */
  placed(): void {
    this.#lastTop = this.#place?.scrollTop ?? 0;
    this.moved();
  }

  toEnd(): void {
    const place = this.#place;
    if (!place) return;
    place.scrollTop = place.scrollHeight;
    this.#lastTop = place.scrollTop;
    this.#set(true);
  }

  #scrolled = (): void => {
    const place = this.#place;
    if (!place) return;
    const isNear = this.#isNear(place);
    // Shrinking content also scrolls; only scrolling up while there is more below is a choice of the reader.
    if (isNear) this.#set(true);
    else if (place.scrollTop < this.#lastTop - 1) this.#set(false);
    this.#lastTop = place.scrollTop;
  };

  #set(isFollowing: boolean): void {
    if (this.isFollowing === isFollowing) return;
    this.isFollowing = isFollowing;
    this.changed();
  }
}
