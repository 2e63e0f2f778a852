/** What a person has chosen, kept in this browser. */

const PREFIX = "headrace.";

/** Return what was kept under a name, or "". */
export function recall(name: string, place: Storage | null = local()): string {
  try {
    return place?.getItem(PREFIX + name) ?? "";
  } catch {
    return "";
  }
}

/** Keep a text under a name; an empty one is forgotten. A browser without storage keeps nothing. */
export function keep(name: string, text: string, place: Storage | null = local()): void {
  try {
    if (text === "") place?.removeItem(PREFIX + name);
    else place?.setItem(PREFIX + name, text);
  } catch {
    // The storage is full or switched off.
  }
}

function local(): Storage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

/** The storage of this tab, which a reload keeps. */
export function ofThisTab(): Storage | null {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

/** Forget everything that was kept here, in this browser and in this tab. */
export function forgetAll(): void {
  for (const place of [local(), ofThisTab()]) {
    for (const name of Object.keys(place ?? {})) if (name.startsWith(PREFIX)) place?.removeItem(name);
  }
}
