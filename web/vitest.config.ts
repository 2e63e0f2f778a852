import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // A file that needs a document says so: // @vitest-environment jsdom
    environment: "node",
    testTimeout: 20_000,
  },
});
