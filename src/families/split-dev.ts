import { Random } from '../random.js';

/** The rows of a dataset, divided; each half keeps the order of the source. */
export interface Splits<Row> {
  readonly train: readonly Row[];
  readonly dev: readonly Row[];
}

/** What a split needs to know about a row. */
export interface SplitKeys {
  /** Rows with the same text stay together, so that dev has nothing that train has seen. */
  readonly text: string;
  /** Names or ids. */
  readonly labels: readonly (string | number)[];
}

/**
 * Sets rows aside for dev, the same ones for the same seed. Stratified: each label gives its share of texts,
 * rounded, and at least one if it has two or more; a row with several labels counts for its rarest.
 * @param devFraction share of the texts, above 0 and below 1.
 */
export function splitDev<Row>(
  rows: readonly Row[],
  keysOf: (row: Row) => SplitKeys,
  devFraction: number,
  seed: number,
): Splits<Row> {
  const random = Random.fromSeed(seed);
  const devTexts = new Set<string>();
  for (const texts of textsByStratum(rows.map(keysOf))) {
    const most = texts.length - 1;
    const wanted = Math.max(1, Math.round(texts.length * devFraction));
    for (const text of random.shuffle(texts).slice(0, Math.min(wanted, most))) devTexts.add(text);
  }
  const isDev = (row: Row) => devTexts.has(keysOf(row).text);
  return { train: rows.filter((row) => !isDev(row)), dev: rows.filter(isDev) };
}

/** The distinct texts, grouped by the label that they count for; those without a label are one more group. */
function textsByStratum(rows: readonly SplitKeys[]): Iterable<readonly string[]> {
  const frequency = new Map<string | number, number>();
  for (const label of rows.flatMap(({ labels }) => labels)) {
    frequency.set(label, (frequency.get(label) ?? 0) + 1);
  }
  const strata = new Map<string | number | undefined, string[]>();
  const seen = new Set<string>();
  for (const { text, labels } of rows) {
    if (seen.has(text)) continue;
    seen.add(text);
    const [rarest] = [...labels].sort((a, b) => (frequency.get(a) ?? 0) - (frequency.get(b) ?? 0));
    const stratum = strata.get(rarest);
    if (stratum) stratum.push(text);
    else strata.set(rarest, [text]);
  }
  return strata.values();
}
