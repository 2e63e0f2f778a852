/** Tries again after a failure, so that the page recovers without a click. */

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

export class Recovery {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waitMs = FIRST_WAIT_MS;

  constructor(readonly attempt: () => void) {}

  /** Try again after a while, longer each time. */
  begin(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.attempt, this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#waitMs = FIRST_WAIT_MS;
  }
}
