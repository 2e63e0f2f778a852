import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/setup.ts"],
    // A file that needs a document says so: // @vitest-environment jsdom
    environment: "node",
    // No file changes what another one imports.
    isolate: false,
    // A busy machine may stall for seconds; speed is measured by `make bench`.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
