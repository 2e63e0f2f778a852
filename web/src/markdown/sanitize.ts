/** The only place that produces trusted HTML. Anything that is not on these lists does not reach the page. */

import type { Config, DOMPurify, WindowLike } from "dompurify";
import { escapeText } from "./escape.js";
import { hostToShow, isCarriedPicture, safeAddress } from "./address.js";
import { withoutHarm, withoutUnseen } from "./invisible.js";

const TAGS =
  "p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code figure figcaption div table thead tbody tr th td " +
  "strong em del a br hr span bdi img sub sup kbd mark details summary";
const ADDRESSES = "href src";
const WORDS =
  "class title target rel alt start align tabindex role aria-label " +
  "data-language data-display data-checked";

/** Only our own classes: others could make text look like a part of the page. */
const CLASS = /^(?:code|table|image|host|math|task|task-item|footnote|footnotes|language-[\w+#.-]{1,32})$/;

const CONFIG: Config = {
  ALLOWED_TAGS: TAGS.split(" "),
  ALLOWED_ATTR: `${ADDRESSES} ${WORDS}`.split(" "),
  ADD_URI_SAFE_ATTR: WORDS.split(" "),
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  // Strings are what the page inserts. In Chromium, a policy costs more than the rest of the work.
  TRUSTED_TYPES_POLICY: null,
};

let create: ((root: WindowLike) => DOMPurify) | undefined;
let purifier: DOMPurify | undefined;

/** Load what `sanitize()` needs for HTML that is not plain. Nothing else may be shown before. */
export async function loadPurifier(): Promise<void> {
  create ??= (await import("dompurify")).default;
}

const TEXT = "[^<&]|&(?:amp|lt|gt|quot|#39);";
const LANGUAGE = "[\\w+#.-]{1,32}";
/** A block of code exactly as html.ts writes it. */
const CODE =
  `<figure class="code"(?: data-language="${LANGUAGE}")?><figcaption>(?:${LANGUAGE})?</figcaption>` +
  `<pre tabindex="0"><code(?: class="language-${LANGUAGE}")?>(?:${TEXT})*</code></pre></figure>`;

/** Text and entities between tags of Markdown that have no attributes, and code: most of what models write. It can do no
 * harm, so it need not be parsed, walked and written again. Tags that a model may write itself are not in it, since they
 * may be open. */
const PLAIN = new RegExp(
  `^(?:${TEXT}|</?(?:p|strong|em|del|code|ul|ol|li|blockquote|h[1-6])>|<(?:br|hr)>|${CODE})*$`,
);

export function sanitize(html: string): string {
  if (PLAIN.test(html) && withoutHarm(html) === html) return html;
  if (!create) return escapeText(html);
  purifier ??= makePurifier(create);
  return purifier.sanitize(html, CONFIG) as string;
}

function makePurifier(createPurifier: (root: WindowLike) => DOMPurify): DOMPurify {
  // A separate instance, so that hooks of the surrounding page are not shared.
  const made = createPurifier(window);
  // Without a document DOMPurify returns its input unchanged.
  if (!made.isSupported) throw new Error("sanitize needs a document, and there is none");
  made.addHook("uponSanitizeElement", (node, { tagName }) => {
    if (tagName === "#text") cleanText(node);
  });
  made.addHook("uponSanitizeAttribute", (_node, attribute) => {
    if (attribute.attrName !== "class") return;
    attribute.attrValue = attribute.attrValue.split(/\s+/).filter((name) => CLASS.test(name)).join(" ");
    attribute.keepAttr = attribute.attrValue !== "";
  });
  made.addHook("afterSanitizeAttributes", (element) => {
    if (element.nodeName === "A") secureLink(element);
    if (element.nodeName === "IMG") securePicture(element);
  });
  return made;
}

/** Done here and not in the source, because Markdown can write any character as an entity. */
function cleanText(node: Node): void {
  const text = node.nodeValue ?? "";
  const clean = node.parentElement?.closest("a") ? withoutUnseen(text) : withoutHarm(text);
  if (clean !== text) node.nodeValue = clean;
}

/** A link shows its target, and opens only when it is clicked. */
function secureLink(link: Element): void {
  const url = safeAddress(link.getAttribute("href") ?? "");
  if (!url) {
    for (const { name } of [...link.attributes]) link.removeAttribute(name);
    return;
  }
  link.setAttribute("href", url.href);
  link.setAttribute("title", url.href);
  link.setAttribute("target", "_blank");
  link.setAttribute("rel", "noopener noreferrer nofollow");
  const text = withoutUnseen(link.textContent ?? "");
  const host = link.className === "image" ? url.host : hostToShow(text, url);
  if (host !== "") link.append(" ", hostElement(host));
}

function hostElement(host: string): HTMLElement {
  const element = document.createElement("bdi");
  element.className = "host";
  element.textContent = host;
  return element;
}

function securePicture(picture: Element): void {
  if (isCarriedPicture(picture.getAttribute("src") ?? "")) return;
  picture.replaceWith(picture.getAttribute("alt") ?? "");
}
