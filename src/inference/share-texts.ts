/**
 * Splits texts into parts of about equal work. Texts of similar work, and so of similar length, go together, so that
 * each part needs little padding.
 * @param work of each text.
 * @returns positions in `work`, part by part; no part is empty, so there may be fewer than asked for.
 */
export function shareTexts(work: readonly number[], parts: number): number[][] {
  const order = [...work.keys()].sort((a, b) => (work[a] ?? 0) - (work[b] ?? 0));
  const total = work.reduce((sum, each) => sum + each, 0);
  const shared = Array.from({ length: parts }, (): number[] => []);
  let before = 0;
  for (const position of order) {
    const own = work[position] ?? 0;
    const middle = before + own / 2;
    shared[Math.min(parts - 1, Math.floor((parts * middle) / total))]?.push(position);
    before += own;
  }
  return shared.filter((part) => part.length > 0);
}
