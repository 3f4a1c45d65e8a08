/** Fixed cost of a text, in characters: its special tokens and its share of starting a run. */
const TEXT_COST = 20;

/**
 * Splits texts into parts of about equal work. Texts of similar length go together, so that each part needs
 * little padding.
 * @param lengths characters of each text.
 * @returns positions in `lengths`, part by part; no part is empty, so there may be fewer than asked for.
 */
export function shareTexts(lengths: readonly number[], parts: number): number[][] {
  const work = (position: number) => TEXT_COST + (lengths[position] ?? 0);
  const order = [...lengths.keys()].sort((a, b) => work(a) - work(b));
  const total = order.reduce((sum, position) => sum + work(position), 0);
  const shared = Array.from({ length: parts }, (): number[] => []);
  let before = 0;
  for (const position of order) {
    const middle = before + work(position) / 2;
    shared[Math.floor((parts * middle) / total)]?.push(position);
    before += work(position);
  }
  return shared.filter((part) => part.length > 0);
}
