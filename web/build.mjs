// Builds web/src into the Python package: `node build.mjs [--report FILE]`.
//
// headrace.js keeps its name, since pages embed it, and names the script with the hash; so does index.html. Everything
// else carries a hash, and stands beside its forms for browsers that read brotli or gzip.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const output = join(here, "../src/headrace/server/static");

const shared = {
  absWorkingDir: here,
  outdir: output,
  bundle: true,
  minify: true,
  metafile: true,
  target: "es2022",
  legalComments: "linked",
  logLevel: "warning",
};

/** Every browser we build for reads woff2; the older formats would only fatten the wheel. */
const woff2Only = {
  name: "woff2-only",
  setup({ onLoad }) {
    onLoad({ filter: /katex[^/\\]*\.css$/ }, async ({ path }) => {
      const css = await readFile(path, "utf8");
      const contents = css.replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\("[a-z]+"\)/g, "");
      return { contents, loader: "css" };
    });
  },
};

/** Without the function `marked()` and its instance, the `Marked` class is left out as well. */
const withoutMarkedFunction = {
  name: "without-marked-function",
  setup({ onLoad }) {
    onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const names = ["Lexer", "Parser", "Renderer", "Tokenizer", "getDefaults"];
      const [whole, kept, exported] = /^([^]*)var \w+=new \w+;function [^]*export\{([^}]*)\}/.exec(source) ?? [];
      if (!whole) throw new Error("marked has changed: withoutMarkedFunction does not find its instance");
      const wanted = exported.split(",").filter((one) => names.includes(one.split(" as ")[1]));
      return { contents: `${kept}export{${wanted.join(",")}}`, loader: "js" };
    });
  },
};

/** Our own style sheets become text: a shadow root takes them as that. */
const sheetAsText = {
  name: "sheet-as-text",
  setup({ onLoad }) {
    onLoad({ filter: /src[/\\]ui[/\\].*\.css$/ }, async ({ path }) => {
      const { outputFiles, metafile } = await build({
        ...shared,
        entryPoints: [path],
        write: false,
      });
      const watchFiles = Object.keys(metafile.inputs);
      return { contents: outputFiles[0].text.trim(), loader: "text", watchFiles };
    });
  },
};

/** What our templates are indented with stands in the page for nothing. */
const withoutIndent = {
  name: "without-indent",
  setup({ onLoad }) {
    onLoad({ filter: /src[/\\]ui[/\\].*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      return { contents: source.replace(/\n\s+/g, "\n"), loader: "ts" };
    });
  },
};

/** The styles and fonts of math; returns the name of the style sheet. */
async function buildMathStyles() {
  const { metafile } = await build({
    ...shared,
    entryPoints: { math: "katex/dist/katex.min.css" },
    entryNames: "[name]-[hash]",
    assetNames: "fonts/[name]-[hash]",
    loader: { ".woff2": "file" },
    plugins: [woff2Only],
  });
  return nameIn(metafile, ".css");
}

/** Builds the highlighting grammars separately: they are CommonJS, whose runtime would be loaded at once. */
async function buildGrammars() {
  const { metafile } = await build({
    ...shared,
    entryPoints: { grammars: "src/markdown/grammars.ts" },
    entryNames: "[name]-[hash]",
    format: "esm",
  });
  return metafile;
}

const nameIn = ({ outputs }, ending) => basename(Object.keys(outputs).find((path) => path.endsWith(ending)));

const builtAs = (module, name) => ({
  name: "built-already",
  setup({ onResolve }) {
    onResolve({ filter: new RegExp(`/${module}\\.js$`) }, () => ({ path: `./${name}`, external: true }));
  },
});

async function buildScripts(mathStyles, grammars) {
  const { metafile } = await build({
    ...shared,
    entryPoints: { headrace: "src/headrace.ts" },
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    format: "esm",
    splitting: true,
    plugins: [sheetAsText, withoutIndent, withoutMarkedFunction, builtAs("grammars", grammars)],
    define: { HEADRACE_MATH_STYLES: JSON.stringify(mathStyles) },
  });
  return metafile;
}

/** Left out of Mermaid: one of its layouts, which is as large as all the others together. */
const withoutElk = {
  name: "without-elk",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^elkjs/ }, () => ({ path: "elkjs", namespace: "left-out" }));
    onLoad({ filter: /./, namespace: "left-out" }, () => ({ contents: 'throw new Error("The layout elk is not included.");' }));
  },
};

/** Builds what draws diagrams, in parts: each kind of diagram is loaded when one is shown. */
async function buildDiagrams() {
  const { metafile } = await build({
    ...shared,
    entryPoints: { diagram: "src/page/diagram.ts" },
    entryNames: "diagram/[name]-[hash]",
    chunkNames: "diagram/[name]-[hash]",
    format: "esm",
    splitting: true,
    legalComments: "none",
    plugins: [withoutElk],
  });
  return metafile;
}

/** Returns the files that the page loads at once: the entry and its static imports. */
function loadedAtOnce(metafile) {
  const found = new Set();
  const visit = (path) => {
    if (found.has(path)) return;
    found.add(path);
    for (const { path: next, kind } of metafile.outputs[path].imports) {
      if (kind === "import-statement") visit(next);
    }
  };
  visit(entryOf(metafile));
  return new Set([...found].map((path) => basename(path)));
}

/** Modules that are loaded later are entries as well. */
const ENTRIES = new Set(["src/headrace.ts", "src/page/diagram.ts"]);
const entryOf = ({ outputs }) => Object.keys(outputs).find((path) => ENTRIES.has(outputs[path].entryPoint));

/** Writes the page, with the hashed names of what it loads, and the script that pages embed. Returns what is loaded at once. */
async function writePage(entry, chunks, diagram) {
  const folder = join(here, "src/page");
  let index = await readFile(join(folder, "index.html"), "utf8");
  const names = [];
  for (const file of ["page.css", "favicon.svg"]) {
    const source = await readFile(join(folder, file));
    const name = file.replace(".", `-${hash(source)}.`);
    index = index.replace(`static/${file}`, `static/${name}`);
    await writeFile(join(output, name), source);
    // Pages that embed the chat use its icon by its plain name.
    await writeFile(join(output, file), source);
    if (file.endsWith(".css")) names.push(name);
  }
  // Otherwise the browser would ask for them only when it has read the script.
  const preloads = chunks.map((name) => `<link rel="modulepreload" href="static/${name}">\n    `).join("");
  index = index.replace('<script type="module"', `${preloads}<script type="module"`);
  await writeFile(join(output, "index.html"), index.replace("static/headrace.js", `static/${entry}`));
  await writeFile(join(output, "preview.html"), await readFile(join(folder, "preview.html")));
  const frame = await readFile(join(folder, "diagram.html"), "utf8");
  await writeFile(join(output, "diagram.html"), frame.replace("diagram.js", diagram));
  await writeFile(join(output, "headrace.js"), `export * from "./${entry}";\n`);
  return names;
}

/** Of the form of esbuild's. */
const hash = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 8).toUpperCase();

/** Writes the forms of each file that are smaller, for the server to send as they are. */
async function compress() {
  const files = await readdir(output, { recursive: true, withFileTypes: true });
  const texts = files.filter((file) => file.isFile() && /\.(?:js|css|svg|txt)$/.test(file.name));
  await Promise.all(texts.map(async (file) => {
    const path = join(file.parentPath, file.name);
    const bytes = await readFile(path);
    const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
    for (const [ending, form] of [[".br", brotliCompressSync(bytes, { params: quality })], [".gz", gzipSync(bytes, { level: 9 })]]) {
      if (form.length < bytes.length) await writeFile(path + ending, form);
    }
  }));
}

/** Licences that ask for it go with the code they cover; the comments of esbuild hold only some. */
async function writeNotices(metafiles, ...others) {
  const names = new Set(others);
  for (const path of metafiles.flatMap(({ inputs }) => Object.keys(inputs))) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path);
    if (match) names.add(match[1]);
  }
  const notices = await Promise.all([...names].sort().map(notice));
  await writeFile(join(output, "NOTICES.txt"), notices.join("\n"));
}

async function notice(name) {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const files = (await readdir(folder)).filter((file) => /^licen[cs]e/i.test(file));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return `== ${name} ${version} (${license})\n\n${texts.join("\n")}\n`;
}

/** Name, bytes and gzipped bytes of every file that was built. */
async function measure(atOnce) {
  const files = await readdir(output, { recursive: true, withFileTypes: true });
  const sources = files.filter((file) => file.isFile() && !/\.(?:br|gz)$/.test(file.name));
  const rows = sources.map(async (file) => {
    const path = join(file.parentPath, file.name);
    const bytes = await readFile(path);
    const gzip = extname(path) === ".woff2" ? bytes.length : gzipSync(bytes, { level: 9 }).length;
    const brotli = await readFile(`${path}.br`).then(({ length }) => length, () => bytes.length);
    return { file: relative(output, path), bytes: bytes.length, gzip, brotli, atOnce: atOnce.has(file.name) };
  });
  return (await Promise.all(rows)).sort((a, b) => b.gzip - a.gzip);
}

const sum = (files, key) => files.reduce((total, file) => total + file[key], 0);

function report(files) {
  const app = files.filter((file) => file.atOnce);
  const fonts = files.filter((file) => file.file.startsWith("fonts"));
  return {
    app: { bytes: sum(app, "bytes"), gzip: sum(app, "gzip"), brotli: sum(app, "brotli") },
    fonts: { bytes: sum(fonts, "bytes"), gzip: sum(fonts, "gzip"), brotli: sum(fonts, "brotli") },
    files,
  };
}

function print({ app, fonts, files }) {
  const line = (name, { bytes, gzip, brotli }) =>
    console.log(`  ${name.padEnd(32)} ${kB(bytes)} ${kB(gzip)} ${kB(brotli)}`);
  console.log(`  ${"kB".padEnd(32)}      min     gzip   brotli`);
  const shown = files.filter(({ file }) => /\.(?:js|css|html)$/.test(file));
  for (const file of shown) line(file.file + (file.atOnce ? " *" : ""), file);
  line("fonts", fonts);
  line("* at once", app);
}

const kB = (bytes) => (bytes / 1000).toFixed(1).padStart(8);

async function main() {
  const { values } = parseArgs({ options: { report: { type: "string" } } });
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const grammars = await buildGrammars();
  const metafile = await buildScripts(await buildMathStyles(), nameIn(grammars, ".js"));
  const diagrams = await buildDiagrams();
  await writeNotices([metafile, grammars, diagrams], "katex");
  const entry = basename(entryOf(metafile));
  const scripts = loadedAtOnce(metafile);
  const chunks = [...scripts].filter((name) => name !== entry);
  const atOnce = await writePage(entry, chunks, relative(output, join(here, entryOf(diagrams))));
  await compress();
  const sizes = report(await measure(new Set([...scripts, ...atOnce, "index.html"])));
  print(sizes);
  if (values.report) await writeFile(values.report, JSON.stringify(sizes, null, 2) + "\n");
}

await main();
