// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import type { PanelPhase, StepsPanel } from "../../src/ui/steps-panel.js";
import type { StepView } from "../../src/core/view.js";

const STEP: StepView = { kind: "opaque", id: "one", what: "search" };

async function show(panel: StepsPanel, steps: readonly StepView[], phase: PanelPhase): Promise<Element | null> {
  Object.assign(panel, { steps, phase, startedAt: Date.now() });
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

/** Draw a panel for three seconds, with new steps every so many milliseconds. Returns what it has shown, and how often it was drawn. */
async function drawFor3s(stepMs: number): Promise<{ shown: string[]; drawings: number }> {
  await import("../../src/ui/steps-panel.js");
  vi.useFakeTimers();
  const panel = document.body.appendChild(document.createElement("headrace-steps-panel")) as StepsPanel;
  await show(panel, [STEP], "live");
  const shown: string[] = [];
  let drawings = 0;
  panel.updated = () => void (drawings += 1);
  for (let ms = 10; ms < 3_300; ms += 10) {
    vi.advanceTimersByTime(10);
    if (ms % stepMs === 0) panel.steps = [STEP];
    await Promise.resolve();
    await panel.updateComplete;
    const told = panel.querySelector(".seconds")!.textContent;
    if (shown.at(-1) !== told) shown.push(told);
  }
  panel.remove();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  return { shown, drawings };
}

test("the seconds are counted without a drawing of their own while there is news", async () => {
  expect(await drawFor3s(150)).toEqual({ shown: ["0 s", "1 s", "2 s", "3 s"], drawings: 21 });
});

test("the seconds are counted while nothing else happens", async () => {
  expect(await drawFor3s(Infinity)).toEqual({ shown: ["0 s", "1 s", "2 s", "3 s"], drawings: 3 });
});
