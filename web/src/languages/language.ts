/** The language of the page. English is a part of the script; another one is loaded when it is chosen. */

import { en, type Messages } from "./en.js";

export type LanguageName = "en" | "zh";
/** What a user can choose: a language, or that of the browser. */
export type LanguageChoice = LanguageName | "auto";

/** The messages in the language that is shown. */
export let t: Messages = en;
let shown: LanguageName = "en";

export function shownLanguage(): LanguageName {
  return shown;
}

/** Return the language for a choice. */
export function languageFor(choice: string | undefined, preferred: readonly string[] = navigator.languages): LanguageName {
  if (choice === "en" || choice === "zh") return choice;
  const known = preferred.map((one) => one.slice(0, 2).toLowerCase()).find((one) => one === "en" || one === "zh");
  return known === "zh" ? "zh" : "en";
}

/** Show another language. Returns whether anything has to be drawn again. */
export async function useLanguage(name: LanguageName): Promise<boolean> {
  if (name === shown) return false;
  const messages = name === "zh" ? (await import("./zh.js")).zh : en;
  shown = name;
  t = messages;
  return true;
}
