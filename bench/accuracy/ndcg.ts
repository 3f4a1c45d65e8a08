/**
 * nDCG at `ranks` (Järvelin & Kekäläinen 2002) with binary gains: 1 where all right passages come first.
 * @param hits whether each ranked passage is right, best first.
 * @param right how many right passages there are.
 */
export function ndcg(hits: readonly boolean[], right: number, ranks: number): number {
  const gain = hits.slice(0, ranks).reduce((sum, hit, rank) => sum + (hit ? discount(rank) : 0), 0);
  const ideal = Array.from({ length: Math.min(right, ranks) }, (_, rank) => discount(rank));
  return gain / ideal.reduce((sum, each) => sum + each, 0);
}

const discount = (rank: number): number => 1 / Math.log2(rank + 2);
