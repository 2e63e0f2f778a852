/** Invisible characters that change what is seen, or hide text. */

/** Direction overrides reverse words and are only used in attacks. Tag characters hide whole sentences; their one
 * honest use is in the flags of England, Scotland and Wales. */
const HARMFUL =
  /\0|[\u202d\u202e]|(\u{1f3f4}[\u{e0020}-\u{e007e}]{2,6}\u{e007f})|[\u{e0000}-\u{e007f}]+/gu;
const MAYBE_HARMFUL = /[\0\u202d\u202e]|\udb40/;

/** All direction marks and zero-width characters. */
const UNSEEN =
  /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

export function withoutHarm(text: string): string {
  if (!MAYBE_HARMFUL.test(text)) return text;
  return text.replace(HARMFUL, (found: string, flag?: string) => {
    if (flag !== undefined) return flag;
    return found.startsWith("\udb40") ? "" : "\ufffd";
  });
}

/** For names that people judge by their looks: links and hosts. */
export function withoutUnseen(text: string): string {
  return text.replace(UNSEEN, "");
}
