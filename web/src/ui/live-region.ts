/** Announces events to screen readers, but never single tokens. */

const PAUSE_MS = 400;

export class LiveRegion {
  #place: HTMLElement | null = null;
  #queue: string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  attach(place: HTMLElement | null): void {
    if (place === this.#place) return;
    this.#place = place;
    if (this.#timer === undefined) this.#next();
  }

  say(text: string): void {
    this.#queue.push(text);
    if (this.#timer === undefined) this.#next();
  }

  #next(): void {
    this.#timer = undefined;
    if (!this.#place) return;
    const text = this.#queue.shift();
    if (text === undefined) return;
    this.#place.textContent = text;
    this.#timer = setTimeout(() => this.#next(), PAUSE_MS);
  }
}
