import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
  AutoTokenizer,
  env,
} from '@huggingface/transformers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { graphResults } from '../../bench/interop/architecture-models.js';
import { encoderTypes } from '../../src/encoder/index.js';
import { smallConfigs } from '../encoder/small-configs.js';
import type { BuiltHead } from '../support/built-models.js';
import { builtModel, probes } from '../support/small-models.js';

/** Folders of every architecture, loaded unchanged by transformers.js, which is to compute what we compute. */

/** Numbers may differ by half a unit of this digit: the order of sums is each library's own. */
const DIGITS = 4;
/** Enough positions for the longest probe, and weights large enough that outputs differ from text to text. */
const larger = { max_position_embeddings: 300, initializer_range: 0.3 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-interop-'));
  env.allowRemoteModels = false;
});
afterAll(() => rm(folder, { recursive: true }));

const classes = {
  first: AutoModelForSequenceClassification,
  mean: AutoModelForSequenceClassification,
  tokens: AutoModelForTokenClassification,
} as const;

/** transformers.js has no class for tagging with ALBERT. */
const isKnown = (type: string, head: BuiltHead): boolean => !(type === 'albert' && head === 'tokens');
const cases = encoderTypes().flatMap((type) =>
  (['first', 'mean', 'tokens'] as const).flatMap((head) => (isKnown(type, head) ? [{ type, head }] : [])),
);

describe.each(cases)('the folder of an encoder of type $type with a head over $head', ({ type, head }) => {
  it('gives equal logits', async () => {
    const encoder = { ...smallConfigs[type], model_type: type, ...larger };
    const directory = await builtModel(`${type} ${head}`, folder, { encoder, head });
    const texts = probes.slice(0, 3);
    const ours = await graphResults(directory, texts);
    const tokenizer = await AutoTokenizer.from_pretrained(directory);
    const model = await classes[head].from_pretrained(directory, { dtype: 'fp32' });
    for (const [row, text] of texts.entries()) {
      const { logits } = await model(tokenizer(text));
      const expected = ours[row]?.outputs ?? [];
      expect(logits.data).toHaveLength(expected.length);
      for (const [at, value] of expected.entries()) {
        expect(Number(logits.data[at])).toBeCloseTo(value, DIGITS);
      }
    }
    await model.dispose();
  });
});
