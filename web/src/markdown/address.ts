/** Where a link really goes: which addresses may be followed, and how they are shown so that
 * nobody is led to another place than the one they read. */

const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);
const MAX_CHARS = 4_096;

/** The address in full, or null if it may not be followed. Relative ones may not: they would act
 * on the page that shows them. */
export function safeAddress(href: string): URL | null {
  if (href.length > MAX_CHARS) return null;
  const url = parse(href);
  if (!url || !PROTOCOLS.has(url.protocol)) return null;
  // In https://bank.example@evil.example the first half is a disguise.
  url.username = url.password = "";
  return url;
}

/** The name of a host; other dots than ours are dots, too. */
const NAME = /(?:[\p{L}\p{N}_-]+[.\u2024\u3002\uff0e\uff61])+[\p{L}\p{N}-]{2,}/u;

/** The host to show beside a link whose text promises another one, or "". */
export function hostToShow(text: string, url: URL): string {
  if (url.host === "") return "";
  if (url.host.includes("xn--")) return url.host;
  const promised = NAME.exec(text)?.[0];
  if (promised === undefined) return "";
  return bare(parse(`https://${promised}`)?.hostname ?? "") === bare(url.hostname) ? "" : url.host;
}

/** Pictures that the text itself carries. SVG is not among them: it is a document. */
export function isCarriedPicture(href: string): boolean {
  return /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/.test(href);
}

function parse(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}

const bare = (host: string): string => host.replace(/^www\./, "");
