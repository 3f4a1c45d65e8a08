import { describe, expect, it } from 'vitest';
import { type SentenceExample, trainOnFewSentences } from '../../../src/families/entities/few-rows.js';
import { onnxExecutor } from '../../../src/graph/index.js';
import { Random } from '../../../src/system/numbers.js';

/** Entity finders from few sentences, without an encoder: its states are given. */

const executor = onnxExecutor({ threads: 1 });
const options = {
  ...{ executor, lowercase: true, language: 'english', balanced: false, seed: 1 },
  signal: new AbortController().signal,
};
const WIDTH = 5;
const TAGS = 3;

/** Words around a point for each tag; their texts say nothing. */
function someSentences(count: number, seed = 3): SentenceExample[] {
  const random = Random.fromSeed(seed);
  const centres = Array.from({ length: TAGS }, () => Array.from({ length: WIDTH }, () => 2 * random.normal()));
  return Array.from({ length: count }, () => {
    const tags = Array.from({ length: 2 + random.integer(4) }, () => random.integer(TAGS));
    const states = tags.flatMap((tag) => (centres[tag] ?? []).map((centre) => centre + random.normal()));
    return { words: tags.map((_, at) => `w${at}`), tags, states: Float32Array.from(states) };
  });
}

function halves(sentences: readonly SentenceExample[]) {
  const [first, second] = [sentences.slice(0, sentences.length / 2), sentences.slice(sentences.length / 2)];
  return [
    { train: first, judged: second },
    { train: second, judged: first },
  ];
}

/** Multinomial logistic regression as scikit-learn states it, Σ loss + ½|w|²/C, by gradient descent in 64 bits. */
function reference(vectors: readonly (readonly number[])[], tags: readonly number[], strength: number) {
  const weight = Array.from({ length: TAGS }, () => new Array<number>(WIDTH).fill(0));
  const bias = new Array<number>(TAGS).fill(0);
  for (let step = 0; step < 4000; step += 1) {
    const slopes = weight.map((row) => row.map((each) => each / strength));
    const biasSlopes = new Array<number>(TAGS).fill(0);
    for (const [row, vector] of vectors.entries()) {
      const logits = weight.map((own, tag) => vector.reduce((sum, x, at) => sum + x * (own[at] ?? 0), bias[tag] ?? 0));
      const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
      for (const [tag, logit] of logits.entries()) {
        const error = Math.exp(logit) / total - (tags[row] === tag ? 1 : 0);
        biasSlopes[tag] = (biasSlopes[tag] ?? 0) + error;
        const slope = slopes[tag] ?? [];
        for (const [at, x] of vector.entries()) slope[at] = (slope[at] ?? 0) + error * x;
      }
    }
    for (const [tag, slope] of slopes.entries()) {
      const own = weight[tag] ?? [];
      for (const [at, each] of slope.entries()) own[at] = (own[at] ?? 0) - 0.02 * each;
      bias[tag] = (bias[tag] ?? 0) - 0.02 * (biasSlopes[tag] ?? 0);
    }
  }
  return { weight: weight.flat(), bias };
}

describe('the layer of an entity finder from few sentences', () => {
  it("is scikit-learn's logistic regression on the words' states, brought to a mean square length of 1", async () => {
    const sentences = someSentences(12);
    const choices = { inverseRegularization: 3, labelNames: 0 };
    const { layer } = await trainOnFewSentences(TAGS, sentences, halves(sentences), { ...options, choices });
    const words = sentences.flatMap(({ tags, states }) =>
      tags.map((_, word) => Array.from(states.subarray(word * WIDTH, (word + 1) * WIDTH))),
    );
    const length = Math.sqrt(words.flat().reduce((sum, each) => sum + each * each, 0) / words.length);
    const vectors = words.map((vector) => vector.map((each) => each / length));
    const tags = sentences.flatMap((sentence) => sentence.tags);
    const expected = reference(vectors, tags, 3);
    for (const [at, each] of expected.weight.entries()) expect((layer.weight[at] ?? 0) * length).toBeCloseTo(each, 1);
  });

  it('weighs tags, if asked, as if each occurred equally often', async () => {
    const random = Random.fromSeed(5);
    const word = (tag: number): SentenceExample => {
      const state = Array.from({ length: WIDTH }, (_, at) => (at === tag ? 1 : 0) + 0.5 * random.normal());
      const length = Math.hypot(...state); // of states of length 1, copies don't change the mean length
      return { words: ['w'], tags: [tag], states: Float32Array.from(state, (each) => each / length) };
    };
    const uneven = [0, 0, 0, 0, 1, 1, 2].map(word);
    const copied = uneven.flatMap((each) => new Array<SentenceExample>([1, 2, 4][each.tags[0] ?? 0] ?? 0).fill(each));
    const layerOf = async (some: readonly SentenceExample[], balanced: boolean) => {
      // The penalty is relative to the number of words: 7 or 12.
      const choices = { inverseRegularization: 21 / some.length, labelNames: 0 };
      const splits = [{ train: some, judged: some }];
      return (await trainOnFewSentences(TAGS, some, splits, { ...options, balanced, choices })).layer;
    };
    const [weighed, expected] = [await layerOf(uneven, true), await layerOf(copied, false)];
    for (const [at, each] of expected.weight.entries()) expect(weighed.weight[at]).toBeCloseTo(each, 3);
    const plain = await layerOf(uneven, false);
    expect(Math.abs((plain.bias[2] ?? 0) - (weighed.bias[2] ?? 0))).toBeGreaterThan(0.1);
  });

  it('learns probabilities of tags as the same words with each tag that often', async () => {
    const sentences = someSentences(6);
    const learned = async (some: readonly SentenceExample[], inverseRegularization: number) => {
      const choices = { inverseRegularization, labelNames: 0 };
      return (await trainOnFewSentences(TAGS, some, halves(sentences), { ...options, choices })).layer;
    };
    // A quarter of each first word has the next tag.
    const next = ([first = 0, ...rest]: readonly number[]) => [(first + 1) % TAGS, ...rest];
    const soft = sentences.map((sentence) => {
      const [first = 0, ...rest] = sentence.tags;
      const shares = Array.from({ length: TAGS }, (_, tag) =>
        tag === first ? 0.75 : tag === (first + 1) % TAGS ? 0.25 : 0,
      );
      return { ...sentence, shares: [shares, ...rest.map(() => undefined)] };
    });
    const often = sentences.flatMap((sentence) => [
      ...[sentence, sentence, sentence],
      { ...sentence, tags: next(sentence.tags) },
    ]);
    // The penalty is divided by the number of words.
    const [one, other] = [await learned(soft, 4), await learned(often, 1)];
    for (const [at, each] of one.weight.entries()) expect(each).toBeCloseTo(other.weight[at] ?? 0, 2);
    for (const [at, each] of one.bias.entries()) expect(each).toBeCloseTo(other.bias[at] ?? 0, 2);
  });

  it('judges each sentence once, by models that had not seen its tags', async () => {
    const sentences = someSentences(20);
    const [train, judged] = [sentences.slice(0, 10), sentences.slice(10)];
    const choices = { inverseRegularization: 1, labelNames: 0 };
    const judge = async (answered: readonly SentenceExample[]) =>
      (await trainOnFewSentences(TAGS, sentences, [{ train, judged: answered }], { ...options, choices })).judged;
    const plain = await judge(judged);
    const others = await judge(
      judged.map((sentence) => ({ ...sentence, tags: sentence.tags.map((tag) => (tag + 1) % 3) })),
    );
    expect(plain.map(({ words, tags }) => ({ words, tags }))).toEqual(
      judged.map(({ words, tags }) => ({ words, tags })),
    );
    for (const field of ['encoder', 'expert', 'transitions'] as const) {
      expect(others.map((sentence) => sentence[field])).toEqual(plain.map((sentence) => sentence[field]));
    }
  });

  it('is chosen among several', async () => {
    const sentences = someSentences(16);
    const { choices, splitLayers } = await trainOnFewSentences(TAGS, sentences, halves(sentences), options);
    expect([0.3, 1, 3, 10]).toContain(choices.inverseRegularization);
    expect(splitLayers).toHaveLength(2);
  });
});
