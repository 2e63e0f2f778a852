// Whether an element is on the screen, with nothing before it.
(one) => {
  const { top, bottom, left, height } = one.getBoundingClientRect();
  const found = one.getRootNode().elementFromPoint(left + 4, (top + bottom) / 2);
  return height > 0 && one.contains(found);
}
