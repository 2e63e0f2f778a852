/** What the page has loaded before it shows an answer. */

import { loadPurifier } from "../src/markdown/sanitize.js";

await loadPurifier();
