import { checkData, train } from 'orchard-nlp';
import { mean, type Options, percent } from './results.js';
import { classificationSets, type LabelledText, mulberry32, shuffled } from './sets.js';

/** Rows of the most frequent labels, some of which get another label: how many of those are listed as label errors. */
const NOISY_SETS = {
  massive_en: { rows: 800, labels: 20 },
  sst2: { rows: 600, labels: 2 },
  banking77: { rows: 800, labels: 20 },
  ag_news: { rows: 600, labels: 4 },
} as const;
type NoisySet = keyof typeof NOISY_SETS;
export const NOISY_NAMES: readonly string[] = Object.keys(NOISY_SETS);
export const isNoisySet = (name: string): name is NoisySet => NOISY_NAMES.includes(name);
const SHARES = [0.05, 0.1];

/** Positions of the rows whose labels are probably wrong, the most probable first. */
async function labelErrors(rows: readonly LabelledText[], threads: number) {
  const found = (await checkData({ rows, threads }))._unsafeUnwrap();
  const doubtful = found.doubtful.map(({ row }) => row);
  return { doubtful, expected: Math.round(found.labelErrors?.expected ?? 0) };
}

/** A line for each share of flipped labels. */
export async function measureNoise(name: NoisySet, options: Options, mostRows: number): Promise<object[]> {
  const { rows: count, labels: most } = NOISY_SETS[name];
  const { train: all = [], test: allTest = [] } = classificationSets[name]?.read(options.root) ?? {};
  const frequent = mostFrequent(all, most);
  const kept = all.filter(({ label }) => frequent.includes(label));
  const clean = shuffled(kept, 5).slice(0, Math.min(count, mostRows));
  const test = shuffled(
    allTest.filter(({ label }) => frequent.includes(label)),
    99,
  ).slice(0, options.test);
  const lines: object[] = [];
  for (const share of SHARES) {
    const { rows, flipped } = withFlips(clean, frequent, Math.round(share * clean.length));
    const startedAt = performance.now();
    const { doubtful, expected } = await labelErrors(rows, options.threads);
    const seconds = (performance.now() - startedAt) / 1000;
    const first = doubtful.slice(0, flipped.size);
    const listed = doubtful.slice(0, expected);
    const right = (positions: readonly number[]) => positions.filter((at) => flipped.has(at)).length;
    const noisy = await accuracyAfter(rows, test, options.threads);
    const rest = rows.filter((_, at) => !first.includes(at));
    lines.push({
      set: name,
      rows: rows.length,
      flipped: flipped.size,
      'right of the first n': right(first),
      listed: listed.length,
      precision: percent(right(listed) / Math.max(1, listed.length)),
      recall: percent(right(listed) / flipped.size),
      'seconds to list': seconds.toFixed(1),
      'train() warns': noisy.warnings.join('; '),
      'accuracy with flips': percent(noisy.accuracy),
      'without the first n': percent((await accuracyAfter(rest, test, options.threads)).accuracy),
      'never flipped': percent((await accuracyAfter(clean, test, options.threads)).accuracy),
    });
    console.log(`  ${JSON.stringify(lines.at(-1))}`);
  }
  return lines;
}

function mostFrequent(rows: readonly LabelledText[], most: number): string[] {
  const counts = new Map<string, number>();
  for (const { label } of rows) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([label]) => label);
}

/** `count` rows, drawn at random, get another of the labels. */
function withFlips(clean: readonly LabelledText[], labels: readonly string[], count: number) {
  const random = mulberry32(7);
  const draw = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)];
  const flipped = new Map<number, string>();
  while (flipped.size < count) {
    const at = Math.floor(random() * clean.length);
    const other = flipped.has(at) ? undefined : draw(labels.filter((label) => label !== clean[at]?.label));
    if (other !== undefined) flipped.set(at, other);
  }
  return { rows: clean.map((row, at) => ({ ...row, label: flipped.get(at) ?? row.label })), flipped };
}

/** Of a model trained on these rows, and the kinds of its warnings. */
async function accuracyAfter(rows: readonly LabelledText[], test: readonly LabelledText[], threads: number) {
  await using model = (await train({ rows, threads }))._unsafeUnwrap();
  const answers = (await model.predict(test.map(({ text }) => text)))._unsafeUnwrap();
  return {
    accuracy: mean(answers.map(({ label }, at) => Number(label === test[at]?.label))),
    warnings: model.training.warnings.map(({ kind }) => kind),
  };
}
