/** Connections are few: a browser allows six to one host, over all its tabs. Streams share four
 * of them, so that a request to stop always finds one. */

const SLOTS = 4;

/** Hold a slot while `work` goes on; false where all are taken. Without locks there is always one. */
export async function withSlot(work: () => Promise<void>): Promise<boolean> {
  if (!("locks" in navigator)) {
    await work();
    return true;
  }
  for (let number = 0; number < SLOTS; number += 1) {
    const got = await navigator.locks.request(`headrace-stream-${number}`, { ifAvailable: true }, async (lock) => {
      if (lock) await work();
      return lock !== null;
    });
    if (got) return true;
  }
  return false;
}
