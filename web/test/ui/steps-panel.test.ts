// @vitest-environment jsdom
import { expect, test } from "vitest";
import type { PanelPhase, StepsPanel } from "../../src/ui/steps-panel.js";
import type { StepView } from "../../src/core/view.js";

const STEP: StepView = { kind: "opaque", id: "one", what: "search" };

async function show(panel: StepsPanel, steps: readonly StepView[], phase: PanelPhase): Promise<Element | null> {
  Object.assign(panel, { steps, phase, startedAt: Date.now(), seconds: 0 });
  await panel.updateComplete;
  return panel.querySelector(".window");
}

async function isTallAfter(between: (panel: StepsPanel, window: Element) => Promise<void>): Promise<boolean> {
  await import("../../src/ui/steps-panel.js");
  const panel = document.body.appendChild(document.createElement("headrace-steps-panel")) as StepsPanel;
  const window = await show(panel, [STEP], "live");
  await between(panel, window!);
  await show(panel, [STEP], "writing");
  const isTall = panel.querySelector(".steps")!.classList.contains("tall");
  panel.remove();
  return isTall;
}

function scrollUp(window: Element): void {
  window.scrollTop = -200;
  window.dispatchEvent(new Event("scroll"));
}

test("the window stays tall for a reader who has scrolled up in it", async () => {
  expect(await isTallAfter(async (_panel, window) => scrollUp(window))).toBe(true);
  expect(await isTallAfter(async () => undefined)).toBe(false);
});

test("a new window is not tall because of what was read in one that is gone", async () => {
  const isTall = await isTallAfter(async (panel, window) => {
    scrollUp(window);
    await show(panel, [], "live");
    await show(panel, [STEP], "live");
  });
  expect(isTall).toBe(false);
});
