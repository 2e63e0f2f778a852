// Returns the controls that are cut off at the left or right edge of the page.
() => {
  const roots = [document];
  for (const root of roots) for (const one of root.querySelectorAll("*")) if (one.shadowRoot) roots.push(one.shadowRoot);
  return roots
    .flatMap((root) => [...root.querySelectorAll("button, input, select, textarea, summary")])
    .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !one.closest("pre, .table"))
    .filter((one) => {
      const { left, right, width } = one.getBoundingClientRect();
      return width > 1 && (left < -1 || right > innerWidth + 1);
    })
    .map((one) => one.outerHTML.slice(0, 120));
}
