import { join } from 'node:path';
import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  callResult,
  ModelFolderError,
  type OrchardError,
  querySchema,
  requireOptions,
  validate,
} from '../contract/index.js';
import {
  CONFIG_FILE,
  copyInto,
  type FoundModel,
  type ModelFolderConfig,
  modelAsOfNow,
  type PairConfig,
  readConfig,
} from '../models/index.js';
import { validateWithPauses } from '../system/index.js';
import { joinParts } from '../text/index.js';
import { writePairEncoder } from '../training/index.js';
import {
  type EmbedOptions,
  type EncoderOptions,
  embedSchema,
  encoderKey,
  findEncoder,
  OpenEncoders,
  RunningEncoder,
} from './embed.js';

/** Cross-encoders, which read two texts together and score the pair. */

/** Options of {@link scorePairs}. */
export interface ScorePairsOptions extends Omit<EmbedOptions, 'model' | 'prompt'> {
  /**
   * The folder of a cross-encoder or of a model that was trained on pairs, or `owner/name` on the Hugging Face Hub, such as
   * `cross-encoder/ms-marco-MiniLM-L6-v2`.
   */
  readonly model: string;
}

export const pairModelSchema = embedSchema.extend({ model: z.string().min(1, 'the name is empty') });
export const rerankDepthSchema = z.int().min(1).max(1000);
const pairsSchema = z.array(z.tuple([querySchema, querySchema]));

/**
 * Scores pairs of texts with a cross-encoder, in the order of the pairs: how well a passage answers a question, or
 * whatever else the model was trained to score. A pair that is too long is cut, the longer text first. The two models
 * used last stay open for the next call, and are opened again if a file of theirs has changed.
 *
 * The model is a checkpoint of transformers that classifies sequences and has one label. Its scores are those of
 * sentence-transformers' `CrossEncoder.predict`: the sigmoid of the model's output, 0 to 1, or what its `activation_fn`
 * says. A model that `train` made from pairs with two labels works, too; its scores are the probabilities of the second
 * label.
 *
 * Fails with a ValidationError, a NotFoundError, a ModelFolderError that names what the model lacks, or an
 * AbortedError.
 */
export function scorePairs(
  pairs: readonly (readonly [first: string, second: string])[],
  options: ScorePairsOptions,
): ResultAsync<readonly number[], OrchardError> {
  const work = async () => {
    const given = validate(pairModelSchema, requireOptions(options, '`scorePairs(pairs, { model })`'));
    const asked = { ...given, model: modelAsOfNow(given.model) };
    const checked = await validateWithPauses(pairsSchema, pairs, ['pairs']);
    return withCrossEncoder(asked, (encoder) => encoder.scores(checked, asked.signal));
  };
  return callResult(work(), 'scoring pairs');
}

/** Opens the model unless it is open. @throws what finding and opening a model throws, and what `work` throws */
export async function withCrossEncoder<Value>(
  { model, modelLoader, device, runtime, signal }: z.infer<typeof pairModelSchema>,
  work: (encoder: CrossEncoder) => Promise<Value>,
): Promise<Value> {
  const placed = await findEncoder(model, { modelLoader, signal });
  const service = { device, runtime };
  const open = () => CrossEncoder.ofModel(placed, { service });
  return encoders.use(encoderKey(placed, service), open, work);
}

/** Each open encoder takes threads, and memory for its weights. */
const encoders = new OpenEncoders<CrossEncoder>(2);

/** Scores pairs of texts, in worker threads. */
export class CrossEncoder {
  readonly #running: RunningEncoder;
  readonly #settings: PairConfig;
  /** Of a model that was trained on pairs: the label whose probability is the score. */
  readonly #label: string | undefined;

  private constructor(running: RunningEncoder) {
    const { labels, pairs } = running.config;
    this.#running = running;
    this.#settings = pairs ?? { activation: 'Sigmoid', prompt: '' };
    this.#label = pairs === undefined ? labels[1] : undefined;
  }

  /** @throws ModelFolderError, StorageError, AbortedError */
  static async ofModel(model: FoundModel, options: EncoderOptions): Promise<CrossEncoder> {
    const config = await readConfig(model.directory).catch(() => undefined); // a checkpoint's is read as what it is
    const isTrained = config?.orchard.parts === 'pair' && config.orchard.pairs === undefined;
    if (isTrained) requireTwoLabels(model, config);
    const write = isTrained ? copyModel : writePairEncoder;
    return new CrossEncoder(await RunningEncoder.written(model, write, options));
  }

  /** @param directory a copy of an encoder's {@link directory}. @throws ModelFolderError, AbortedError */
  static async ofFolder(directory: string, options: EncoderOptions): Promise<CrossEncoder> {
    return new CrossEncoder(await RunningEncoder.open(directory, options));
  }

  /** A folder that {@link ofFolder} opens. */
  get directory(): string {
    return this.#running.directory;
  }

  /** The scores of pairs, in their order. @throws AbortedError, ClosedError, OverloadedError */
  async scores(pairs: readonly (readonly [string, string])[], signal?: AbortSignal): Promise<number[]> {
    const joined = pairs.map(([first, second]) => joinParts(this.#settings.prompt + first, second));
    const results = await this.#running.results(joined, { signal });
    const label = this.#label;
    return results.map(({ labels, scores }) => scores[label === undefined ? 0 : labels.indexOf(label)] ?? Number.NaN);
  }

  /**
   * The best passages, each with the sigmoid of the model's output; equally good ones stay in their order.
   * @throws AbortedError, ClosedError, OverloadedError
   */
  async ordered<Found extends { readonly passage: string }>(
    question: string,
    passages: readonly Found[],
    {
      k,
      minScore,
      signal,
    }: { readonly k: number; readonly minScore: number; readonly signal: AbortSignal | undefined },
  ): Promise<(Found & { readonly score: number })[]> {
    const pairs = passages.map(({ passage }) => [question, passage] as const);
    const scores = await this.scores(pairs, signal);
    const probability = (score: number) =>
      this.#settings.activation === 'Sigmoid' ? score : 1 / (1 + Math.exp(-score));
    const scored = passages.map((each, at) => ({ ...each, score: probability(scores[at] ?? Number.NaN) }));
    return scored
      .sort((a, b) => b.score - a.score)
      .slice(0, k)
      .filter(({ score }) => score >= minScore);
  }

  close(): Promise<void> {
    return this.#running.close();
  }
}

const copyModel = ({ directory }: FoundModel, to: string): Promise<void> => copyInto(directory, to);

/** @throws ModelFolderError */
function requireTwoLabels({ directory }: FoundModel, { orchard }: ModelFolderConfig): void {
  if (orchard.type === 'binary-text-classification') return;
  const reason = `it is a ${orchard.type} model; to rerank passages, use a classifier of pairs with two labels, the second of which means a match`;
  throw new ModelFolderError(join(directory, CONFIG_FILE), reason);
}
