import * as z from 'zod';
import { orThrow, querySchema, requireOptions, signalSchema, ValidationError, validate } from '../contract/index.js';
import {
  type AnsweredText,
  type Baseline,
  compare,
  type Drift,
  drawn,
  labelCounts,
  logLength,
  MOST_VECTORS,
  makeBaseline,
  NGramFilter,
  PROBE_TEXT,
  requireBaseline,
  requireSameModel,
} from '../drift/index.js';
import { mapWithPauses, validateWithPauses, withPauses } from '../system/index.js';
import { labelsOf } from './answers.js';
import type { Model } from './model.js';
import { encoderOf } from './open-model.js';

/** `model.baseline` and `model.drift`: which texts are usual for a model, and whether others are like them. */

/** Options of `baseline`. */
export interface BaselineOptions {
  /**
   * Texts that are usual for the model, such as those of one month in production. Default: none; the result is then the
   * baseline in the model's folder, which is made of its training and dev texts.
   */
  readonly texts?: readonly string[] | undefined;
  /** Only with `texts`: seed of the random samples. Default 0. */
  readonly seed?: number | undefined;
  /** Only with `texts`: aborts the call. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `drift`. */
export interface DriftOptions {
  /** The baseline to compare with. Default: the one in the model's folder. */
  readonly baseline?: Baseline | undefined;
  /** Seed of the random samples and permutations. Default 0. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const baselineSchema = z.strictObject({
  texts: z.array(z.string()).optional(),
  seed: z.int32().optional(),
  signal: signalSchema.optional(),
});
const driftSchema = z.strictObject({
  baseline: z.unknown().optional(),
  seed: z.int32().default(0),
  signal: signalSchema.optional(),
});
const textsSchema = z.array(querySchema.refine((text) => text.trim() !== '', 'the text is blank; leave it out'));

/** The model answers and encodes the texts one by one; of more texts than this, a random sample is used. */
const MOST_TEXTS = 5000;

/** @throws ValidationError, AbortedError, ModelFolderError, and any error of `model.predict` */
export async function modelBaseline(
  model: Model,
  options: BaselineOptions,
  recorded: () => Promise<Baseline>,
): Promise<Baseline> {
  const { texts, seed, signal } = validate(baselineSchema, requireOptions(options ?? {}, '`baseline({ texts })`'));
  if (texts === undefined) {
    if (seed === undefined && signal === undefined) return recorded();
    const msg = 'applies only to a baseline that is made of texts; give `texts`, or leave it out';
    throw new ValidationError([{ loc: [seed === undefined ? 'signal' : 'seed'], msg, type: 'unsupported' }]);
  }
  const given = await validateWithPauses(textsSchema, texts, ['texts']);
  if (given.length === 0) {
    throw new ValidationError([{ loc: ['texts'], msg: 'give at least one text', type: 'too_few' }]);
  }
  const chosen = drawn(given, MOST_TEXTS, seed ?? 0);
  const answered = await answeredTexts(model, chosen, signal);
  const encoded = drawn(chosen, MOST_VECTORS, seed ?? 0);
  const [probe = new Float32Array(), ...some] = await vectorsOf(model, [PROBE_TEXT, ...encoded], signal);
  const labels = labelsGiven(model);
  const input = { origin: 'texts', known: given, texts: answered, labels, vectors: { some, probe } } as const;
  return withPauses(makeBaseline(input, seed ?? 0), signal);
}

/** @throws ValidationError, AbortedError, ModelFolderError without a baseline, and any error of `model.predict` */
export async function modelDrift(
  model: Model,
  texts: readonly string[],
  options: DriftOptions,
  recorded: () => Promise<Baseline>,
): Promise<Drift> {
  const {
    baseline: asked,
    seed,
    signal,
  } = validate(driftSchema, requireOptions(options ?? {}, '`drift(texts, { baseline })`'));
  const baseline = asked === undefined ? await recorded() : requireBaseline(asked);
  const given = await validateWithPauses(textsSchema, texts, ['texts']);
  const places = drawn([...given.keys()], MOST_TEXTS, seed);
  const chosen = places.flatMap((at) => given.slice(at, at + 1));
  const filter = NGramFilter.decode(baseline.known);
  const [probe, ...vectors] =
    baseline.vectors === undefined ? [] : await vectorsOf(model, [PROBE_TEXT, ...chosen], signal);
  requireSameModel(baseline, { labels: labelsGiven(model), probe });
  const answered = baseline.labels && (await answeredTexts(model, chosen, signal));
  const sample = {
    knownShares: await mapWithPauses(chosen, (text) => filter.share(text), signal),
    logLengths: chosen.map(logLength),
    labels: answered && labelCounts(model.labels, answered),
    vectors: baseline.vectors && vectors,
  };
  const drift = await withPauses(compare(baseline, sample, seed), signal);
  return { ...drift, oddest: drift.oddest.map((odd) => ({ ...odd, index: places[odd.index] ?? odd.index })) };
}

/** What ranks passages gives no labels. */
const labelsGiven = ({ kind, labels }: Model): readonly string[] | undefined =>
  kind === 'passages' ? undefined : labels;

async function answeredTexts(
  model: Model,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly AnsweredText[]> {
  if (model.kind === 'passages') return texts.map((text) => ({ text, labels: [] }));
  const answers = await orThrow(model.predict(texts, { signal }));
  return answers.map((answer, at) => ({ text: texts[at] ?? '', labels: labelsOf(answer) }));
}

async function vectorsOf(
  model: Model,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Float32Array[]> {
  const encoder = await encoderOf(model, { service: { runtime: model.runtime }, signal });
  try {
    return await encoder.vectors(texts, { signal });
  } finally {
    await encoder.close();
  }
}
