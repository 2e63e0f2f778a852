// Builds the peer into build/: `node build.mjs`.
import { build } from "esbuild";

await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: { peer: "peer.tsx" },
  outdir: "build",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
});
