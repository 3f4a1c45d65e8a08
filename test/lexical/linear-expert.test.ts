import { describe, expect, it } from 'vitest';
import { encodeLinearExpert, LinearExpert, trainLinearExpert } from '../../src/lexical/index.js';
import { fitTfIdf } from '../../src/lexical/tf-idf.js';
import { SVM_C, svmMemory as svmMemorySteps } from '../../src/lexical/train-linear-expert.js';
import { decodeSafetensors, encodeSafetensors, type IntegerTensor, type NamedTensor } from '../../src/models/index.js';
import { Random } from '../../src/system/numbers.js';
import { runToEnd } from '../../src/system/pauses.js';
import { atOnce } from '../support/at-once.js';
import { failureOf } from '../support/outcomes.js';

const svmMemory = atOnce(svmMemorySteps);

const subjects = ['film', 'book', 'meal', 'hotel', 'train', 'phone'];
const good = ['great', 'lovely', 'superb', 'delightful'];
const bad = ['awful', 'dull', 'broken', 'terrible'];

/** Short reviews; label 1 is praise, and labels 2 to 4 are what they are about. */
function reviews(count: number, seed = 1) {
  const random = Random.fromSeed(seed);
  const pick = (words: readonly string[]) => words[random.integer(words.length)] ?? '';
  return Array.from({ length: count }, () => {
    const praise = random.uniform() < 0.5;
    const subject = random.integer(3);
    const text = `The ${subjects[subject]} was ${pick(praise ? good : bad)} and ${pick(praise ? good : bad)}`;
    return { text, praise, subject };
  });
}

const options = { lowercase: true, seed: 1 };

function trainOn(rows: ReturnType<typeof reviews>, active: (row: (typeof rows)[number]) => number[], outputs: number) {
  return trainLinearExpert(
    rows.map(({ text }) => text),
    rows.map((row) => ({ active: active(row) })),
    { ...options, outputs },
  );
}

describe('the linear expert', () => {
  it('learns one output, several classes, and several labels at once', async () => {
    const rows = reviews(120);
    const held = reviews(60, 2);
    const binary = await trainOn(rows, ({ praise }) => (praise ? [0] : []), 1);
    expect(held.every(({ text, praise }) => (binary.read(text).margins[0] ?? 0) > 0 === praise)).toBe(true);
    const classes = await trainOn(rows, ({ subject }) => [subject], 3);
    expect(
      held.every(({ text, subject }) => {
        const margins = classes.read(text).margins;
        return margins.indexOf(Math.max(...margins)) === subject;
      }),
    ).toBe(true);
    const labels = await trainOn(rows, ({ praise, subject }) => (praise ? [0, subject + 1] : [subject + 1]), 4);
    expect(
      held.every(({ text, praise, subject }) => {
        const on = [...labels.read(text).margins.keys()].filter((label) => (labels.read(text).margins[label] ?? 0) > 0);
        return on.join() === (praise ? [0, subject + 1] : [subject + 1]).join();
      }),
    ).toBe(true);
  });

  it('gives the same bytes for the same texts and seed', async () => {
    const rows = reviews(80);
    const once = await trainOn(rows, ({ subject }) => [subject], 3);
    const again = await trainOn(rows, ({ subject }) => [subject], 3);
    expect(Buffer.compare(encodeLinearExpert(once), encodeLinearExpert(again))).toBe(0);
  });

  it('lets the label with more weight win if rows contradict each other', async () => {
    const texts = ['same words', 'same words', 'same words', 'other things'];
    const targets = [{ active: [0] }, { active: [] }, { active: [] }, { active: [] }];
    const plain = await trainLinearExpert(texts, targets, { ...options, outputs: 1 });
    const weighed = await trainLinearExpert(texts, targets, {
      ...options,
      outputs: 1,
      classWeights: [{ active: 10, inactive: 1 }],
    });
    expect(plain.read('same words').margins[0]).toBeLessThan(0);
    expect(weighed.read('same words').margins[0]).toBeGreaterThan(0);
  });

  it('reads texts with more features than fit into one sum', async () => {
    const rows = reviews(40);
    const expert = await trainOn(rows, ({ praise }) => (praise ? [0] : []), 1);
    const long = Array.from({ length: 9000 }, (_, at) => `word${at}`).join(' ');
    expect(expert.read(long).margins).toHaveLength(1);
    const memory = await trainLinearExpert([long, 'short'], [{ active: [0] }, { active: [] }], {
      ...options,
      outputs: 1,
    });
    expect(memory.read(long).margins[0]).toBeGreaterThan(0);
  });

  it('stops soon after the signal', async () => {
    const signal = AbortSignal.abort();
    await failureOf('aborted', () =>
      trainLinearExpert(['a', 'b'], [{ active: [0] }, { active: [] }], { ...options, outputs: 1, signal }),
    );
  });
});

describe('dual coordinate descent', () => {
  const rows = reviews(40, 5);
  const tfIdf = runToEnd(
    fitTfIdf(
      rows.map(({ text }) => text),
      { lowercase: true, words: true, characters: null },
      1000,
    ),
  );
  /** ½‖w‖² + C·Σ max(0, 1 − y·w·x)², over the vectors that the solver itself reads. */
  function objective(weights: Float64Array, vectors: readonly Map<number, number>[], signs: readonly number[]): number {
    const square = weights.reduce((sum, weight) => sum + weight ** 2, 0);
    return vectors.reduce((sum, vector, row) => {
      const margin = [...vector].reduce((total, [id, value]) => total + value * (weights[id] ?? 0), 0);
      return sum + SVM_C * Math.max(0, 1 - (signs[row] ?? 0) * margin) ** 2;
    }, square / 2);
  }

  it('finds the minimum that plain gradient descent finds', () => {
    const { problem, order, kernels } = svmMemory(tfIdf, {
      texts: rows.map(({ text }) => text),
      active: rows.map(({ praise }, row) => (praise !== (row % 7 === 0) ? [0] : [])),
      outputs: 1,
      classWeights: [],
    });
    for (let pass = 0; pass < 200; pass += 1) kernels.svmPass(problem, order);
    const solved = Float64Array.from({ length: tfIdf.size + 1 }, (_, id) => problem.weights[id * problem.outputs] ?? 0);
    const vectors = rows.map((_, row) => {
      const span = [...problem.ids.keys()].slice(problem.starts[row], problem.starts[row + 1]);
      return new Map(span.map((at) => [problem.ids[at] ?? 0, problem.values[at] ?? 0]));
    });
    const signs = rows.map(({ praise }, row) => (praise !== (row % 7 === 0) ? 1 : -1));
    const descended = descend(vectors, signs, tfIdf.size + 1);
    const best = objective(descended, vectors, signs);
    expect(objective(solved, vectors, signs)).toBeLessThan(best * (1 + 1e-4));
    expect(objective(solved, vectors, signs)).toBeGreaterThan(best * (1 - 1e-4));
  });
});

/** The slow and simple way to the same minimum. */
function descend(vectors: readonly Map<number, number>[], signs: readonly number[], size: number): Float64Array {
  const weights = new Float64Array(size);
  for (let step = 0; step < 4000; step += 1) {
    const gradient = weights.slice();
    for (const [row, vector] of vectors.entries()) {
      const sign = signs[row] ?? 0;
      const margin = [...vector].reduce((sum, [id, value]) => sum + value * (weights[id] ?? 0), 0);
      const slack = Math.max(0, 1 - sign * margin);
      for (const [id, value] of vector) gradient[id] = (gradient[id] ?? 0) - 2 * SVM_C * slack * sign * value;
    }
    for (const [id, slope] of gradient.entries()) weights[id] = (weights[id] ?? 0) - 0.01 * slope;
  }
  return weights;
}

describe('the file of an expert', () => {
  it('answers as before it was stored, to the bit', async () => {
    const rows = reviews(60);
    const trained = await trainOn(rows, ({ subject }) => [subject], 3);
    const read = LinearExpert.decode(encodeLinearExpert(trained), 'lexical.safetensors');
    for (const { text } of reviews(20, 3)) expect(read.read(text).margins).toEqual(trained.read(text).margins);
  });

  it('keeps the option of word triples, which long texts have', async () => {
    const filler = 'and so on and on it went that day '.repeat(20);
    const long = reviews(40).map((row) => ({ ...row, text: `${row.text} ${filler}` }));
    const trained = await trainOn(long, ({ subject }) => [subject], 3);
    const bytes = encodeLinearExpert(trained);
    const { metadata } = decodeSafetensors(bytes, 'lexical.safetensors');
    expect(JSON.parse(metadata.n_grams ?? '')).toMatchObject({
      words: true,
      triples: true,
      characters: null,
    });
    const read = LinearExpert.decode(bytes, 'lexical.safetensors');
    for (const { text } of long) expect(read.read(text).margins).toEqual(trained.read(text).margins);
  });

  it('is refused with its name if it is not what it should be', async () => {
    const trained = await trainOn(reviews(20), ({ subject }) => [subject], 3);
    const bytes = encodeLinearExpert(trained);
    const wrong = { nothing: new Uint8Array(0), 'cut off': bytes.subarray(0, bytes.length - 5) };
    for (const [name, content] of Object.entries(wrong)) {
      const error = await failureOf('model_folder', () => LinearExpert.decode(content, 'folder/lexical.safetensors'));
      expect(error.message, name).toContain('folder/lexical.safetensors');
    }
  });

  it.each<[string, SpoiltExpert]>([
    ['n-grams without end', { n_grams: { characters: { shortest: 1, longest: 1e9 } } }],
    ['n-grams that are longer than they may be', { n_grams: { characters: { shortest: 5, longest: 2 } } }],
    ['a scale that is not a number', { scale: Number.NaN }],
    ['a scale that leaves float32', { scale: 3e38 }],
  ])('is refused with its name if it has %s', async (_, { n_grams, scale }) => {
    const trained = await trainOn(reviews(20), ({ subject }) => [subject], 3);
    const { tensors, integers, metadata } = decodeSafetensors(encodeLinearExpert(trained), 'sound');
    const scales = tensors.get('scales')?.values ?? new Float32Array();
    if (scale !== undefined) scales[0] = scale;
    const options = { ...JSON.parse(metadata.n_grams ?? ''), ...n_grams };
    const all = new Map<string, NamedTensor | IntegerTensor>([...tensors, ...integers]);
    const bytes = encodeSafetensors(all, { n_grams: JSON.stringify(options) });
    const error = await failureOf('model_folder', () => LinearExpert.decode(bytes, 'lexical.safetensors'));
    expect(error.file).toBe('lexical.safetensors');
  });
});

interface SpoiltExpert {
  readonly n_grams?: object;
  readonly scale?: number;
}
