// Adds up how far things move by themselves, and notes which.
window.shifted = 0;
window.moved = [];
new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries()) {
    window.shifted += value;
    for (const { node, previousRect, currentRect } of sources) {
      window.moved.push([node?.className ?? node?.nodeName, previousRect.y, currentRect.y]);
    }
  }
}).observe({ type: "layout-shift", buffered: true });
