import * as z from 'zod';
import { validate } from '../../contract/index.js';
import { AbortedError } from '../../errors.js';
import { isQueries, type Queries } from '../../inference/index.js';
import { withPauses } from '../../pauses.js';
import { Random } from '../../random.js';
import type { Model } from '../model.js';
import { MULTILABEL } from '../multilabel.js';
import { invalid } from '../rows/index.js';
import { SentenceEncoder } from '../search/sentence-encoder.js';
import { type Candidate, Candidates } from './candidates.js';
import { spreadOut } from './spread-out.js';
import type { SuggestedText, SuggestOptions } from './suggestion.js';
import { uncertaintyOf } from './uncertainty.js';

const optionsSchema = z.strictObject({
  count: z.int().min(1).max(10_000).default(20),
  seed: z.int32().default(0),
  signal: z.instanceof(AbortSignal).optional(),
});

/** Of so many uncertain texts for each one wanted, those that differ are chosen (docs/tuning.md). */
const CANDIDATES_EACH = 10;
/** Fewest and most of them: few differ little, and each takes a vector in memory. */
const FEWEST_CANDIDATES = 200;
const MOST_CANDIDATES = 20_000;

/** Weight of a text that the model is sure of, so that such ones are drawn where there are no others. */
const LEAST_WEIGHT = 1e-6;

/** @throws as `suggestTexts` fails */
export async function suggest(
  model: Model,
  texts: Queries,
  options: SuggestOptions,
): Promise<readonly SuggestedText[]> {
  const { count, seed, signal } = validate(optionsSchema, options ?? {});
  const random = Random.fromSeed(seed);
  const candidates = await unsureTexts(model, checkedTexts(texts), count, random, signal);
  const chosen =
    candidates.length <= count ? candidates : await differing(model, candidates, count, random, signal);
  return [...chosen].sort((a, b) => b.uncertainty - a.uncertainty || a.index - b.index);
}

/** @throws ValidationError */
function checkedTexts(texts: unknown): Queries {
  if (isQueries(texts)) return texts;
  throw invalid(['texts'], 'give an array or an iterable of texts');
}

async function unsureTexts(
  model: Model,
  texts: Queries,
  count: number,
  random: Random,
  signal: AbortSignal | undefined,
): Promise<readonly Candidate[]> {
  const wanted = Math.max(FEWEST_CANDIDATES, CANDIDATES_EACH * count);
  const kept = new Candidates(Math.max(count, Math.min(MOST_CANDIDATES, wanted)), random);
  const isMultilabel = model.type === MULTILABEL;
  const asked: string[] = [];
  async function* remembered() {
    for await (const text of texts) {
      asked.push(text);
      yield text;
    }
  }
  let index = 0;
  for await (const answer of model.predict(remembered(), { signal })) {
    if (signal?.aborted) throw new AbortedError('suggesting texts', { cause: signal.reason });
    if (answer.isErr()) throw answer.error;
    const text = asked.shift() ?? '';
    kept.add({ text, index, uncertainty: uncertaintyOf(answer.value, isMultilabel) });
    index += 1;
  }
  return kept.best();
}

/** Texts that differ from each other, by the vectors of the model's own encoder. */
async function differing(
  { name, directory }: Model,
  candidates: readonly Candidate[],
  count: number,
  random: Random,
  signal: AbortSignal | undefined,
): Promise<readonly Candidate[]> {
  const encoder = await SentenceEncoder.ofModel({ name, directory }, { service: {}, signal });
  try {
    const vectors = await encoder.vectors(
      candidates.map(({ text }) => text),
      signal,
    );
    const weights = candidates.map(({ uncertainty }) => Math.max(uncertainty, LEAST_WEIGHT));
    const drawn = await withPauses(spreadOut(vectors, weights, count, random), signal);
    return drawn.flatMap((at) => candidates.slice(at, at + 1));
  } finally {
    await encoder.close();
  }
}
