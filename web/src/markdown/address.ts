/** Checks link addresses, and shows the real target where the text of a link suggests another. */

const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);
const MAX_CHARS = 4_096;

/** Return the full address, or null if it must not be followed. Relative addresses are refused: they would act on
 * the page that shows them. */
export function safeAddress(href: string): URL | null {
  if (href.length > MAX_CHARS) return null;
  const url = parse(href);
  if (!url || !PROTOCOLS.has(url.protocol)) return null;
  // In https://bank.example@evil.example the part before the @ is a disguise.
  url.username = url.password = "";
  return url;
}

/** Matches a host name; Unicode dots count as dots. */
const NAME = /(?:[\p{L}\p{N}_-]+[.\u2024\u3002\uff0e\uff61])+[\p{L}\p{N}-]{2,}/u;

/** Return the host to show beside a link whose text suggests another one, or "". */
export function hostToShow(text: string, url: URL): string {
  if (url.host === "") return "";
  if (url.host.includes("xn--")) return url.host;
  const promised = NAME.exec(text)?.[0];
  if (promised === undefined) return "";
  return bare(parse(`https://${promised}`)?.hostname ?? "") === bare(url.hostname) ? "" : url.host;
}

/** Embedded images. SVG is excluded, because it is a document. */
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
