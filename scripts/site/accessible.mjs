/** A page of typedoc's theme, mended where axe-core finds fault with it; page.js does the same for the menu. */
export function accessible(html) {
  const landmarks = html
    .replace('<div class="col-content">', '<div class="col-content" role="main">')
    .replace('<div class="col-sidebar">', '<div class="col-sidebar" role="complementary">')
    .replaceAll('<th></th>', '<td></td>')
    // Wide ones scroll, by keys too.
    .replaceAll('<table>', '<table tabindex="0">');
  // What opens and closes a part must not hold a link.
  const plain = landmarks.replaceAll(/<summary[\s\S]*?<\/summary>/g, (summary) =>
    summary.replace(/<a [^>]*tsd-anchor-icon[\s\S]*?<\/a>/, ''),
  );
  let above = 0;
  // Its headings are chosen by their size. A screen reader is told their depth.
  return plain.replaceAll(/<h([1-6])(?=[ >])/g, (tag, digit) => {
    const level = Math.min(Number(digit), above + 1);
    above = level;
    return level === Number(digit) ? tag : `${tag} aria-level="${level}"`;
  });
}
