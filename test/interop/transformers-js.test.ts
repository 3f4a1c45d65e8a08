import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
  AutoTokenizer,
  env,
  pipeline,
  type Tensor,
} from '@huggingface/transformers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { meanOfRows, unitVector } from '../../src/families/index.js';
import { TextModel } from '../../src/inference/text-model.js';
import type { TextOutputs } from '../../src/text/index.js';
import { probes, type SmallModelName, smallModel } from '../support/small-models.js';

/** Folders of trained models, loaded unchanged by transformers.js, which is to compute what we compute. */

/** Numbers may differ by half a unit of this digit: the order of sums is each library's own. */
const DIGITS = 4;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-interop-'));
  env.allowRemoteModels = false;
});
afterAll(() => rm(folder, { recursive: true }));

/** Trains a model. @returns its folder, and what our own encoder makes of every probe. */
async function prepare(name: SmallModelName): Promise<{ directory: string; ours: TextOutputs[] }> {
  const directory = await smallModel(name, folder);
  const model = await TextModel.load(directory, 1);
  const ours = await model.encode(probes);
  await model.release();
  // Outputs that hardly differ would be equal whatever a library did with the texts.
  const first = ours.map(([window]) => window?.outputs[0] ?? 0);
  expect(Math.max(...first) - Math.min(...first)).toBeGreaterThan(100 * 10 ** -DIGITS);
  return { directory, ours };
}

/** The numbers of each text of a padded batch. */
function rowsOf({ dims, data }: Tensor): number[][] {
  const width = data.length / (dims[0] ?? 1);
  return Array.from({ length: dims[0] ?? 0 }, (_, row) =>
    Array.from(data.slice(row * width, (row + 1) * width), Number),
  );
}

function expectClose(actual: ArrayLike<number> | undefined, expected: ArrayLike<number>): void {
  expect(actual).toHaveLength(expected.length);
  for (let at = 0; at < expected.length; at += 1) {
    expect(actual?.[at]).toBeCloseTo(expected[at] ?? Number.NaN, DIGITS);
  }
}

/** All probes as one padded batch. */
async function tokenize(directory: string) {
  const tokenizer = await AutoTokenizer.from_pretrained(directory);
  return tokenizer([...probes], { padding: true });
}

async function expectEqualTokens(directory: string, ours: readonly TextOutputs[]): Promise<void> {
  const { input_ids, attention_mask } = await tokenize(directory);
  const masks = rowsOf(attention_mask);
  for (const [row, ids] of rowsOf(input_ids).entries()) {
    const read = ids.filter((_, token) => masks[row]?.[token] === 1);
    expect(read).toEqual(Array.from(ours[row]?.[0]?.encoding.ids ?? []));
  }
}

/** Of a binary model, whose lone logit is that of its second label. */
const sigmoidOf = ([logit = Number.NaN]: readonly number[]) => new Map([['good', 1 / (1 + Math.exp(-logit))]]);

function softmaxOf(logits: readonly number[]): Map<string, number> {
  const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
  return new Map(['bad', 'good', 'unsure'].map((label, at) => [label, Math.exp(logits[at] ?? 0) / sum]));
}

describe.each<SmallModelName>(['binary classifier', 'multiclass classifier', 'classifier of first tokens'])(
  'the folder of a %s',
  (name) => {
    let directory: string;
    let ours: TextOutputs[];
    beforeAll(async () => {
      ({ directory, ours } = await prepare(name));
    });

    it('reads every text as the same tokens', () => expectEqualTokens(directory, ours));

    it('gives equal logits', async () => {
      const model = await AutoModelForSequenceClassification.from_pretrained(directory, { dtype: 'fp32' });
      const { logits } = await model(await tokenize(directory));
      for (const [row, values] of rowsOf(logits).entries()) {
        expectClose(values, ours[row]?.[0]?.outputs ?? []);
      }
      await model.dispose();
    });

    it('answers with the labels that were trained, through the softmax or sigmoid that the model was trained with', async () => {
      const classifier = await pipeline('text-classification', directory, { dtype: 'fp32' });
      const [text = ''] = probes;
      const answer = await classifier(text, { top_k: null });
      const logits = Array.from(ours[0]?.[0]?.outputs ?? []);
      const scores = new Map(answer.map(({ label, score }) => [label, score]));
      const expected = name === 'binary classifier' ? sigmoidOf(logits) : softmaxOf(logits);
      expect([...scores.keys()].sort()).toEqual([...expected.keys()]);
      for (const [label, score] of expected) expect(scores.get(label)).toBeCloseTo(score, DIGITS);
      await classifier.dispose();
    });
  },
);

describe('the folder of an entity tagger', () => {
  let directory: string;
  let ours: TextOutputs[];
  beforeAll(async () => {
    ({ directory, ours } = await prepare('entity tagger'));
  });

  it('reads every text as the same tokens', () => expectEqualTokens(directory, ours));

  it('gives equal logits for each token', async () => {
    const model = await AutoModelForTokenClassification.from_pretrained(directory, { dtype: 'fp32' });
    const { logits } = await model(await tokenize(directory));
    const tags = logits.dims[2];
    for (const [row, values] of rowsOf(logits).entries()) {
      const [window] = ours[row] ?? [];
      const length = (window?.encoding.ids.length ?? 0) * tags;
      expectClose(values.slice(0, length), window?.outputs.subarray(0, length) ?? []);
    }
    await model.dispose();
  });
});

describe('the folder of a retriever', () => {
  let directory: string;
  let ours: TextOutputs[];
  beforeAll(async () => {
    ({ directory, ours } = await prepare('retriever'));
  });

  it('reads every text as the same tokens', () => expectEqualTokens(directory, ours));

  it('gives equal vectors through the feature-extraction pipeline', async () => {
    const extractor = await pipeline('feature-extraction', directory, { dtype: 'fp32' });
    const vectors = await extractor([...probes], { pooling: 'mean', normalize: true });
    for (const [row, values] of rowsOf(vectors).entries()) {
      const [window] = ours[row] ?? [];
      const states = window?.outputs ?? new Float32Array();
      expectClose(values, unitVector(meanOfRows(states, window?.encoding.ids.length ?? 0, values.length)));
    }
    await extractor.dispose();
  });
});
