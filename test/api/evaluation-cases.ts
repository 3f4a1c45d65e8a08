import { Random } from '../../src/system/numbers.js';

/** Made-up truths and answers, the same every time, that figures are compared on. */

/** Truth and answer of each example. */
export interface EvaluationCases {
  readonly labels: { readonly actual: string[]; readonly predicted: string[] };
  readonly multilabel: {
    readonly names: string[];
    readonly actual: string[][];
    readonly predicted: string[][];
  };
  readonly entities: { readonly actual: string[][]; readonly predicted: string[][] };
}

const NAMES = ['amber', 'birch', 'cedar', 'dogwood', 'elder'];
const TYPES = ['LOC', 'ORG', 'PER'];

/** 240 examples of each kind. `elder` is never right, `dogwood` never answered, and some rows have no labels. */
export function evaluationCases(): EvaluationCases {
  const random = Random.fromSeed(20);
  const rows = Array.from({ length: 240 }, (_, row) => row);
  const pick = (names: readonly string[]) => names[random.integer(names.length)] ?? '';
  const actual = rows.map(() => pick(NAMES.slice(0, 4)));
  const predicted = actual.map((label) => {
    if (label !== 'dogwood' && random.uniform() < 0.7) return label;
    return pick(NAMES.filter((name) => name !== 'dogwood'));
  });
  const someOf = () => NAMES.filter(() => random.uniform() < 0.3);
  const flipped = (labels: readonly string[]) =>
    NAMES.filter((name) => labels.includes(name) !== random.uniform() < 0.2);
  const many = rows.map(someOf);
  const sentences = rows.map(() => tags(random, pick));
  const noisy = sentences.map((sentence) => (random.uniform() < 0.4 ? tags(random, pick, sentence.length) : sentence));
  return {
    labels: { actual, predicted },
    multilabel: { names: NAMES, actual: many, predicted: many.map(flipped) },
    entities: { actual: sentences, predicted: noisy },
  };
}

/** BIO tags of a sentence; an I- always continues an entity of its type. */
function tags(random: Random, pick: (names: readonly string[]) => string, length = 4 + random.integer(9)): string[] {
  const written: string[] = [];
  while (written.length < length) {
    if (random.uniform() < 0.6) written.push('O');
    else {
      const type = pick(TYPES);
      written.push(`B-${type}`);
      while (written.length < length && random.uniform() < 0.5) written.push(`I-${type}`);
    }
  }
  return written;
}
