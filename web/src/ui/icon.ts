/** The icons: 16 by 16, stroked in the color of the text. */

import { svg, type TemplateResult } from "lit";

const PATHS = {
  chevron: "M6 4l4 4-4 4",
  send: "M8 13V3M3.5 7.5L8 3l4.5 4.5",
  stop: "M4.5 4.5h7v7h-7z",
  copy: "M5.5 5.5V3h7.5v7.5h-2.5M3 5.5h7.5V13H3z",
  check: "M3.5 8.5l3 3 6-7",
  retry: "M13 8a5 5 0 1 1-1.5-3.5M13 2.5V5h-2.5",
  edit: "M10.5 3l2.5 2.5L5.5 13H3v-2.5z",
  trash: "M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.5 9h6l.5-9",
  plus: "M8 3v10M3 8h10",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  search: "M11 11l3 3M7 12A5 5 0 1 1 7 2a5 5 0 0 1 0 10z",
  down: "M8 3v10M3.5 8.5L8 13l4.5-4.5",
  tool: "M10.5 2.5a3 3 0 0 0-3.6 3.9L2.5 10.8l2.7 2.7 4.4-4.4a3 3 0 0 0 3.9-3.6L11.4 7.6 8.9 7l-.5-2.5z",
  warning: "M8 2.5L14.5 13.5h-13zM8 6.5v3M8 11.5v.2",
  play: "M5 3.5l7.5 4.5L5 12.5z",
  code: "M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5",
  clip: "M13 7.5l-5 5a3.2 3.2 0 0 1-4.5-4.5l5.5-5.5a2.1 2.1 0 0 1 3 3L6.500 11a1 1 0 0 1-1.500-1.500l4.500-4.500",
  file: "M4 2.500h5l3 3v8H4zM9 2.500v3h3",
  close: "M4 4l8 8M12 4l-8 8",
  chat: "M2.5 3.5h11v8h-6l-3 2.5v-2.5h-2z",
  pin: "M6 2.5h4l-.5 4L12 8.500v1H4v-1l2.500-2zM8 9.500V14",
  panel: "M2.500 3h11v10h-11zM6.500 3v10",
  clock: "M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12zM8 5v3l2 1.500",
  settings: "M8 10a2 2 0 1 1 0-4 2 2 0 0 1 0 4zM8 1.500v2M8 12.500v2M1.500 8h2M12.500 8h2M3.400 3.400l1.400 1.400M11.200 11.200l1.400 1.400M12.600 3.400l-1.400 1.400M4.800 11.200l-1.400 1.400",
  export: "M8 10V2.5M5 5.5l3-3 3 3M3 10v3h10v-3",
} as const;

export type IconName = keyof typeof PATHS;

export function icon(name: IconName): TemplateResult {
  return svg`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor"
    stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${PATHS[name]}></path></svg>`;
}
