/** Shares connections between tabs. A browser allows six per host; streams use four, so that a stop request
 * always gets one. */

const SLOTS = 4;

/** Run `work` while holding a slot; return false if all are taken. Without the Locks API there is always one. */
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
