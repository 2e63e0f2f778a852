/** Draws a diagram of an answer, in a frame without an origin and without a network. The page that holds the frame
 * sends the source, and is told the height of the drawing, or that the source is not understood. */

import mermaid, { type MermaidConfig } from "mermaid";

interface Request {
  readonly source: string;
  readonly isDark: boolean;
}

const LIGHT = {
  background: "#fbfaf7",
  primaryColor: "#e5f1ef",
  primaryBorderColor: "#0f766e",
  primaryTextColor: "#1b1d21",
  secondaryColor: "#f1efea",
  tertiaryColor: "#fbfaf7",
  lineColor: "#5b5d60",
  textColor: "#1b1d21",
};
const DARK = {
  darkMode: true,
  background: "#121416",
  primaryColor: "#173230",
  primaryBorderColor: "#5eead4",
  primaryTextColor: "#e8e6e1",
  secondaryColor: "#1c1f22",
  tertiaryColor: "#121416",
  lineColor: "#a3a3a1",
  textColor: "#e8e6e1",
};

function settingsFor({ isDark }: Request): MermaidConfig {
  return {
    startOnLoad: false,
    securityLevel: "strict",
    // Errors are shown by the page, as the source of the diagram.
    suppressErrorRendering: true,
    // The other layout, elk, is as large as the rest of Mermaid, and is left out of the build.
    layout: "dagre",
    theme: "base",
    fontFamily: "system-ui, sans-serif",
    themeVariables: { ...(isDark ? DARK : LIGHT), fontSize: "15px", useGradient: false, dropShadow: "none" },
  };
}

let drawings = 0;

async function draw(request: Request): Promise<number | null> {
  document.documentElement.style.colorScheme = request.isDark ? "dark" : "light";
  mermaid.initialize(settingsFor(request));
  try {
    const { svg } = await mermaid.render(`diagram-${(drawings += 1)}`, request.source);
    document.body.innerHTML = svg;
  } catch {
    return null;
  }
  return document.body.scrollHeight;
}

addEventListener("message", ({ source, data }: MessageEvent<Request>) => {
  if (source !== parent) return;
  void draw(data).then((height) => parent.postMessage({ height }, "*"));
});
parent.postMessage("ready", "*");
