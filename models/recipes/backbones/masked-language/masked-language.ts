import type { Encoder } from '../../../../src/encoder/index.js';
import type { LossHead } from '../../../../src/engine/index.js';
import type { Graph, Tensor } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/random.js';
import type { SpecialTokenIds } from '../../../../src/tokenizer/index.js';
import { WORD_EMBEDDINGS } from '../embeddings/make-embeddings.js';
import { maskedLanguageSettings } from '../settings.js';
import { ENCODER_PREFIX, encodingOf, type LearningBatch, type Objective } from '../student/objective.js';
import { hiddenTokenFeeds, hiddenTokenLoss, hiddenTokenParameters } from './hidden-token-loss.js';
import { hideTokens } from './hidden-tokens.js';
import { neighbourFeeds, neighbourLoss } from './neighbour-loss.js';
import { OneHotRows } from './one-hot-rows.js';

/** Token ids of two neighbouring passages, or of a single one, twice. */
export type Neighbours = readonly [Int32Array, Int32Array];

export interface MaskedLanguageOptions {
  readonly encoder: Encoder;
  readonly specialTokens: Pick<SpecialTokenIds, 'mask'>;
  /** Examples for training and for validation. */
  readonly train: readonly Neighbours[];
  readonly validation: readonly Neighbours[];
  /** Texts of a validation batch. */
  readonly batchSize: number;
  readonly seed: number;
}

/** Weights of the losses of a batch. */
interface LossWeights {
  readonly words: number;
  readonly neighbours: number;
}

const measures: Readonly<Record<string, LossWeights>> = {
  words: { words: 1, neighbours: 0 },
  neighbours: { words: 0, neighbours: 1 },
};

/** Used as the step, which is never negative, to pick the tokens for validation. */
const VALIDATION = -1;

/**
 * Trains a student to predict hidden tokens and to tell neighbouring passages from others by their mean
 * hidden states. A single passage is its own neighbour with other tokens hidden, as SimCSE uses dropout (Gao
 * et al. 2021).
 */
export function maskedLanguage(options: MaskedLanguageOptions): Objective {
  const { encoder, specialTokens, train, validation, batchSize, seed } = options;
  const { hiddenShare, maskedShare, weights } = maskedLanguageSettings;
  const pieces = new OneHotRows(encoder.vocabularySize);
  const batchOf = (examples: readonly Neighbours[], random: Random, losses: LossWeights): LearningBatch => {
    const texts = examples.flat();
    const { seen, hidden } = hideTokens(texts, {
      hiddenShare,
      maskedShare,
      maskId: specialTokens.mask,
      random,
    });
    const lengths = texts.map(({ length }) => length);
    const batch = { texts: texts.length, tokens: Math.max(...lengths) };
    return {
      encodings: seen.map(encodingOf),
      feeds: {
        ...hiddenTokenFeeds(hidden, batch, losses.words, pieces),
        ...neighbourFeeds(lengths, losses.neighbours),
      },
    };
  };
  const longer = ([a, b]: Neighbours): number => Math.max(a.length, b.length);
  return {
    head: maskedLanguageHead(encoder),
    parameters: [...encoder.parameters(ENCODER_PREFIX), ...hiddenTokenParameters(encoder)],
    lengths: train.map(longer),
    longest: [...train, ...validation].reduce((most, example) => Math.max(most, longer(example)), 0),
    textsPerExample: 2,
    batch(examples, step) {
      const chosen = examples.flatMap((example) => (train[example] ? [train[example]] : []));
      return batchOf(chosen, Random.fromSeed(seed, step), weights);
    },
    measures: Object.keys(measures),
    *validation(measure) {
      const losses = measures[measure];
      if (losses === undefined) throw new RangeError(`no measure ${measure}`);
      const random = Random.fromSeed(seed, VALIDATION);
      const count = Math.max(1, Math.floor(batchSize / 2));
      for (let start = 0; start < validation.length; start += count) {
        yield batchOf(validation.slice(start, start + count), random, losses);
      }
    },
  };
}

/** The encoder's hidden states, and the sum of the two losses. */
function maskedLanguageHead(encoder: Encoder): LossHead {
  return {
    outputs: ({ width }) => width,
    logits: (graph, trained, inputs, dropout) =>
      trained.states(graph, inputs, { prefix: ENCODER_PREFIX, dropout }),
    loss: (graph, states) =>
      graph.add(
        hiddenTokenLoss(graph, states, wordEmbeddings(graph), encoder),
        neighbourLoss(graph, states, maskedLanguageSettings.temperature),
      ),
  };
}

function wordEmbeddings({ parameters }: Graph): Tensor {
  const found = parameters.find(({ name }) => name === WORD_EMBEDDINGS);
  if (found === undefined) throw new Error(`the graph has no ${WORD_EMBEDDINGS} yet`);
  return found;
}
