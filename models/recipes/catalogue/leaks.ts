import type { Source } from './recipe.js';

/** Rows that must stay out of training because a model is measured on them. */

/** Shorter sentences are too common to prove that a text was copied. */
const TELLING_CHARACTERS = 30;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' });

/** Keeps only letters and digits, in lower case; a text that has none stays as it is. */
export function foldText(text: string): string {
  const folded = text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '');
  return folded === '' ? text.trim() : folded;
}

/** Texts that models are measured on, and the telling sentences in them. */
export class MeasuredTexts {
  readonly #folded = new Set<string>();

  constructor(texts: Iterable<string>) {
    for (const text of texts) {
      this.#folded.add(foldText(text));
      for (const { segment } of segmenter.segment(text)) {
        const folded = foldText(segment);
        if (folded.length >= TELLING_CHARACTERS) this.#folded.add(folded);
      }
    }
  }

  /**
   * Whether this text is one of them, or one of their sentences, apart from case, spacing and punctuation.
   */
  has(text: string): boolean {
    return this.#folded.has(foldText(text));
  }
}

/** How many rows a source gave, and how many it lost because they are in a test. */
export interface SourceCounts {
  readonly train: number;
  readonly dev: number;
  readonly leaks: number;
}

export interface TrainingRows<Row> {
  readonly train: readonly Row[];
  /** Undefined if no source has any. */
  readonly dev: readonly Row[] | undefined;
  /** In the order of the sources. */
  readonly counts: readonly SourceCounts[];
}

/**
 * The rows of all sources without those that models are measured on.
 * @param textOf the text of a row that is compared with the tests.
 */
export async function readTrainingRows<Row>(
  sources: readonly Source<Row>[],
  textOf: (row: Row) => string,
  measured: MeasuredTexts,
  datasets: string,
): Promise<TrainingRows<Row>> {
  const train: Row[] = [];
  const dev: Row[] = [];
  const counts: SourceCounts[] = [];
  const isFree = (row: Row) => !measured.has(textOf(row));
  for (const source of sources) {
    const split = await source.read(datasets);
    const given = split.dev ?? [];
    const [freeTrain, freeDev] = [split.train.filter(isFree), given.filter(isFree)];
    const leaks = split.train.length + given.length - freeTrain.length - freeDev.length;
    counts.push({ train: freeTrain.length, dev: freeDev.length, leaks });
    for (const row of freeTrain) train.push(row);
    for (const row of freeDev) dev.push(row);
  }
  return { train, dev: dev.length === 0 ? undefined : dev, counts };
}
