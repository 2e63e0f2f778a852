/** Random markdown documents, and random ways to slice a text. The same seed gives the same. */

export type Random = () => number;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const below = (random: Random, limit: number): number => Math.floor(random() * limit);

export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[below(random, choices.length)] as T;
}

export function slices(random: Random, text: string, longest: number): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = 1 + below(random, longest);
    found.push(text.slice(at, at + length));
    at += length;
  }
  return found;
}

const WORDS = (
  "water stone channel the a of flows quickly 水路 静か 流れ。 Größe naïve 🌊 👩‍👩‍👧 x y 12 3.5 1. 2) - + # > | _ * " +
  "*emph* **bold** ***both*** _under_ __strong__ ~~gone~~ `code` ``a ` b`` [link](https://example.org) " +
  "[ref][one] [two] [three][] ![alt](https://example.org/a.png) <https://auto.example> www.example.com " +
  "a@example.org $x^2$ $5 $$y$$ \\(z\\) \\[w\\] &amp; &lt; <b>html</b> <br> H<sub>2</sub>O <kbd>x</kbd> <sub> </sup> x[^1] [^2]: <details> \\* **open *half [broken]( `tick snake_case_word"
).split(" ");

const words = (random: Random): string =>
  Array.from({ length: 1 + below(random, 8) }, () => pick(random, WORDS)).join(" ");

const lines = (random: Random, prefix: string, most: number): string =>
  Array.from({ length: 1 + below(random, most) }, () => prefix + words(random)).join("\n");

const indented = (text: string, by: string): string => text.replace(/^(?=.)/gm, by);

const MAKERS: ((random: Random, depth: number) => string)[] = [
  (random) => lines(random, "", 3),
  (random) => lines(random, "", 3),
  (random) => words(random) + pick(random, ["  \n", "\\\n"]) + words(random),
  (random) => `${"#".repeat(1 + below(random, 6))} ${words(random)}${pick(random, ["", " ##", "\n" + words(random)])}`,
  (random) => `${words(random)}\n${pick(random, ["===", "---", "-", "="])}`,
  (random) => pick(random, ["---", "***", "_ _ _", "- - -"]),
  (random) => fence(random),
  (random) => fence(random),
  (random) => lines(random, "    ", 3),
  (random) => table(random),
  (random, depth) => quote(random, depth),
  (random, depth) => list(random, depth),
  (random, depth) => list(random, depth),
  (random) => `<details>\n<summary>${words(random)}</summary>\n\n${lines(random, "", 2)}\n\n${pick(random, ["- a\n- b", "```\nx\n```", "b"])}\n</details>`,
  (random) => `[^${1 + below(random, 3)}]: ${lines(random, "", 2)}`,
  (random) => `<div class="x">\n${words(random)}\n</div>`,
  (random) => pick(random, ["<!-- note\n\nstill -->", "<script>\nlet a = 1;\n\nlet b;\n</script>", "<p>one</p>"]),
  (random) => pick(random, ["$$\na + b\n= c\n$$", "\\[\nx - y\n\\]", "Text:\n$$\na\n- b\n$$", "$$\nopen", "$$ one $$ tail"]),
  (random) => `- [${pick(random, [" ", "x", "X"])}] ${words(random)}\n- [ ] ${words(random)}`,
];

const DEFINITIONS = ["[one]: https://one.example", "[two]: <https://two.example> 'Two'", "[THREE]: /three\n  \"Three\""];

function fence(random: Random): string {
  const mark = pick(random, ["```", "~~~", "````"]);
  const body = Array.from({ length: below(random, 4) }, () =>
    pick(random, ["", "let x = 1;", "  indented", "# no heading", "- no item", "``", "> no quote", words(random)]),
  ).join("\n");
  const end = pick(random, ["\n" + mark, "\n" + mark, "\n" + mark + "  ", ""]);
  return `${mark}${pick(random, ["", "js", "python x", "c++"])}\n${body}${end}`;
}

function table(random: Random): string {
  const row = (): string => `| ${pick(random, WORDS)} | ${words(random).replaceAll("|", "")} |`;
  const rule = pick(random, ["|---|---|", "| :-- | --: |", "--- | ---", "|-|-|-|"]);
  return [row(), rule, ...Array.from({ length: below(random, 4) }, row)].join("\n");
}

function quote(random: Random, depth: number): string {
  const inner = depth > 2 ? words(random) : blocks(random, depth + 1, 2);
  const lazy = pick(random, ["", "", "\n" + words(random)]);
  return inner.replace(/^/gm, pick(random, ["> ", ">", " > "])) + lazy;
}

function list(random: Random, depth: number): string {
  const isOrdered = random() < 0.4;
  const bullet = pick(random, ["-", "*", "+"]);
  const gap = pick(random, ["\n", "\n", "\n\n"]);
  const first = pick(random, [1, 1, 1, 2, 7]);
  const items = Array.from({ length: 1 + below(random, 4) }, (_, index) => {
    const marker = isOrdered ? `${first + index}.` : bullet;
    const body = depth > 2 || random() < 0.6 ? lines(random, "", 2) : blocks(random, depth + 1, 2);
    const text = indented(body, " ".repeat(marker.length + 1)).trimStart();
    return `${marker} ${pick(random, [text, text, text, body])}`;
  });
  return items.join(gap);
}

function blocks(random: Random, depth: number, most: number): string {
  const made = Array.from({ length: 1 + below(random, most) }, () => pick(random, MAKERS)(random, depth));
  return made.join(pick(random, ["\n", "\n\n", "\n\n", "\n\n", "\n\n\n", "\n  \n"]));
}

export function makeDocument(random: Random): string {
  const parts = Array.from({ length: 1 + below(random, 5) }, () => blocks(random, 0, 3));
  if (random() < 0.3) {
    const definitions = DEFINITIONS.filter(() => random() < 0.7).join("\n");
    parts.splice(below(random, parts.length + 1), 0, definitions);
  }
  const text = parts.join(pick(random, ["\n\n", "\n\n", "\n"])) + pick(random, ["", "\n", "\n\n"]);
  return random() < 0.1 ? text.replaceAll("\n", "\r\n") : text;
}

/** Blocks that do not end, of the given length. */
export const GIANTS: Record<string, (chars: number) => string> = {
  prose: (chars) => fill(`${SENTENCE.repeat(4)}\n\n## Heading\n\n- one\n- two\n\n`, chars),
  list: (chars) => fill(`- ${SENTENCE}\n`, chars),
  "numbered list": (chars) => fill(`1. ${SENTENCE}\n`, chars),
  "list in a list": (chars) => "- top\n" + fill(`  - ${SENTENCE}\n`, chars),
  table: (chars) => "| a | b |\n|---|---|\n" + fill("| **water** | `fast` 12 |\n", chars),
  code: (chars) => "```python\n" + fill("return [x * 2 for x in range(10)]  # & <b>\n\n", chars),
  "code in one line": (chars) => "```json\n" + fill('{"a":[1,2,3],"b":"x"},', chars),
  paragraph: (chars) => fill(SENTENCE, chars),
  "paragraph of lines": (chars) => fill(`${SENTENCE}\n`, chars),
  quotation: (chars) => fill(`> ${SENTENCE}\n`, chars),
  "text without spaces": (chars) => fill("水路静流", chars),
  "line breaks": (chars) => fill("\n", chars),
};

const SENTENCE = "the water flows through the **stone channel** and `turns` the wheel, slowly at first. ";

const fill = (text: string, chars: number): string => text.repeat(Math.ceil(chars / text.length)).slice(0, chars);
