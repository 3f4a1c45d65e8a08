import { Random } from '../../random.js';
import { foldText } from '../fold-text.js';
import type { LocatedRow } from './classification-dataset.js';

/** The rows of a dataset, divided; each half keeps the order of the source. */
export interface Splits {
  readonly train: readonly LocatedRow[];
  readonly dev: readonly LocatedRow[];
}

/**
 * Sets rows aside for dev, the same ones for the same seed. Stratified: each label gives its share, rounded, and
 * at least one text of two or more; a row with several labels counts as one of its rarest. Rows whose texts
 * differ in case or spacing only stay together, so that dev holds nothing that train has seen.
 * @param devFraction share of the texts, above 0 and below 1.
 */
export function splitDev(rows: readonly LocatedRow[], devFraction: number, seed: number): Splits {
  const random = Random.fromSeed(seed);
  const devTexts = new Set<string>();
  for (const texts of textsByStratum(rows)) {
    const most = texts.length - 1;
    const wanted = Math.max(1, Math.round(texts.length * devFraction));
    for (const text of random.shuffle(texts).slice(0, Math.min(wanted, most))) devTexts.add(text);
  }
  const isDev = (row: LocatedRow) => devTexts.has(foldText(row.text));
  return { train: rows.filter((row) => !isDev(row)), dev: rows.filter(isDev) };
}

/** The different texts, folded, by the label that they count for; those without a label count as one more. */
function textsByStratum(rows: readonly LocatedRow[]): Iterable<readonly string[]> {
  const frequency = new Map<number, number>();
  for (const id of rows.flatMap(({ labelIds }) => labelIds)) frequency.set(id, (frequency.get(id) ?? 0) + 1);
  const strata = new Map<number | undefined, string[]>();
  const seen = new Set<string>();
  for (const { text, labelIds } of rows) {
    const folded = foldText(text);
    if (seen.has(folded)) continue;
    seen.add(folded);
    const [rarest] = [...labelIds].sort((a, b) => (frequency.get(a) ?? 0) - (frequency.get(b) ?? 0));
    const stratum = strata.get(rarest);
    if (stratum) stratum.push(folded);
    else strata.set(rarest, [folded]);
  }
  return strata.values();
}
