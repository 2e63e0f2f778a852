/** The highlighted languages, in a separate chunk. Import this only when code is highlighted. */

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import haskell from "highlight.js/lib/languages/haskell";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const languages = {
  bash, c, cpp, csharp, css, diff, dockerfile, go, haskell, ini, java, javascript, json, kotlin,
  lua, makefile, php, python, r, ruby, rust, sql, swift, typescript, xml, yaml,
};

type Name = keyof typeof languages;

/** Other names of the languages, as their grammars declare them. They are needed before a grammar is made. */
const ALIASES: Partial<Record<Name, string>> = {
  bash: "sh zsh",
  c: "h",
  cpp: "cc c++ h++ hpp hh hxx cxx",
  csharp: "cs c#",
  diff: "patch",
  dockerfile: "docker",
  go: "golang",
  haskell: "hs",
  ini: "toml",
  java: "jsp",
  javascript: "js jsx mjs cjs",
  json: "jsonc json5",
  kotlin: "kt kts ktm ktx",
  lua: "pluto",
  makefile: "mk mak make",
  python: "py gyp ipython",
  ruby: "rb gemspec podspec thor irb",
  rust: "rs",
  typescript: "ts tsx mts cts",
  xml: "html xhtml rss atom xjb xsd xsl plist wsf svg",
  yaml: "yml",
};

/** Languages that a language contains. */
const INNER: Partial<Record<Name, readonly Name[]>> = {
  dockerfile: ["bash"],
  javascript: ["xml", "css"],
  typescript: ["xml", "css"],
  xml: ["css", "javascript"],
  yaml: ["ruby"],
};

/** Make the grammar of a language when it is first needed, because making all of them takes longer than a frame. Returns
 * whether there is one. */
export function hasGrammar(language: string): boolean {
  const name = nameOf(language);
  if (name) register(name);
  return name !== undefined;
}

function nameOf(language: string): Name | undefined {
  if (Object.hasOwn(languages, language)) return language as Name;
  return (Object.keys(ALIASES) as Name[]).find((name) => ALIASES[name]?.split(" ").includes(language));
}

function register(name: Name): void {
  if (hljs.getLanguage(name)) return;
  hljs.registerLanguage(name, languages[name]);
  for (const inner of INNER[name] ?? []) register(inner);
}

export { hljs };
