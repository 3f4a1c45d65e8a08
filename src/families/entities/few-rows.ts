import { type LinearFit, LinearSolver } from '../../engine/index.js';
import { type CrfExpert, trainCrfExpert } from '../../lexical/index.js';
import { mapWithPauses, runToEnd } from '../../system/index.js';
import { crossEntropy } from '../cross-entropy.js';
import type { FewRowsChoices, FewRowsOptions } from '../family.js';
import { foldWords, logProbabilities } from './bio-decoding.js';
import type { JudgedSentence } from './calibration.js';
import type { TaggedSentence } from './sequence-dataset.js';
import { tagTargets, tagWeights } from './tag-targets.js';

/**
 * Entity finders from few sentences: logistic regression on the states of an encoder that stays as it is, word by word, and
 * the CRF. No sentence is held out: each is answered by models that were trained without it, and the final model is trained
 * on all of them (docs/few-rows.md).
 */

export interface SentenceExample extends TaggedSentence {
  /** The encoder's states. [words, width] */
  readonly states: Float32Array;
}

interface SentenceSplit {
  readonly train: readonly SentenceExample[];
  readonly judged: readonly SentenceExample[];
}

export interface FewSentencesModel {
  readonly layer: LinearFit;
  /** Those that judged each split. */
  readonly splitLayers: readonly LinearFit[];
  readonly expert: CrfExpert;
  /** The sentences of the splits, with what models say of them that had not seen them. */
  readonly judged: readonly (JudgedSentence & TaggedSentence)[];
  readonly choices: FewRowsChoices;
}

/** Inverse strengths of the penalty that are tried. */
const STRENGTHS = [0.3, 1, 3, 10];

/** @throws AbortedError soon after the signal fires */
export async function trainOnFewSentences(
  tags: number,
  train: readonly SentenceExample[],
  splits: readonly SentenceSplit[],
  options: FewRowsOptions,
): Promise<FewSentencesModel> {
  const first = train.find(({ words }) => words.length > 0);
  const width = first === undefined ? 0 : first.states.length / first.words.length;
  const { balanced, signal } = options;
  const solver = await LinearSolver.create(options.executor, { width, outputs: tags, loss: crossEntropy });
  try {
    const layerFor = (sentences: readonly SentenceExample[], strength: number, start?: LinearFit) =>
      fitLayer(solver, sentences, { tags, strength, start, balanced, signal });
    const { strength, layers, encoder } = await chooseLayers(splits, layerFor, options);
    const judged: (JudgedSentence & TaggedSentence)[] = [];
    for (const split of splits) {
      const expert = await trainCrf(split.train, tags, options);
      for (const sentence of split.judged) {
        const emissions = runToEnd(expert.emissionsInSteps(foldWords(sentence.words, options.lowercase)));
        const { words, tags, text } = sentence;
        const said = encoder[judged.length] ?? new Float32Array();
        judged.push({
          ...{ words, tags, encoder: said, expert: emissions, transitions: expert.transitions },
          ...(text !== undefined && { text }),
        });
      }
    }
    return {
      layer: await layerFor(train, strength),
      splitLayers: layers,
      expert: await trainCrf(train, tags, options),
      judged,
      choices: { inverseRegularization: strength, labelNames: 0 },
    };
  } finally {
    await solver.release();
  }
}

type LayerFor = (sentences: readonly SentenceExample[], strength: number, start?: LinearFit) => Promise<LinearFit>;

/** The strength under which the tags of the judged words are most likely. */
async function chooseLayers(splits: readonly SentenceSplit[], layerFor: LayerFor, { choices, signal }: FewRowsOptions) {
  const strengths = choices ? [choices.inverseRegularization] : STRENGTHS;
  let best:
    | { strength: number; layers: readonly LinearFit[]; encoder: readonly Float32Array[]; loss: number }
    | undefined;
  let before: readonly LinearFit[] = [];
  for (const strength of strengths) {
    const layers: LinearFit[] = [];
    const encoder: Float32Array[] = [];
    let loss = 0;
    for (const [at, split] of splits.entries()) {
      const layer = await layerFor(split.train, strength, before[at]);
      layers.push(layer);
      const said = await mapWithPauses(split.judged, ({ states }) => tagLogProbabilities(layer, states), signal);
      for (const [row, each] of said.entries()) loss += lossOf(each, split.judged[row]?.tags ?? [], layer.bias.length);
      encoder.push(...said);
    }
    before = layers;
    if (best === undefined || loss < best.loss) best = { strength, layers, encoder, loss };
  }
  if (best === undefined) throw new RangeError('there is nothing to choose from');
  return best;
}

/** In nats. */
function lossOf(logProbabilities: Float32Array, tags: readonly number[], count: number): number {
  return tags.reduce((sum, tag, word) => sum - (logProbabilities[word * count + tag] ?? 0), 0);
}

/** [words, tags] */
function tagLogProbabilities({ weight, bias }: LinearFit, states: Float32Array): Float32Array {
  const { length: tags } = bias;
  const width = weight.length / tags;
  const words = states.length / width;
  const logits = new Float32Array(words * tags);
  for (let word = 0; word < words; word += 1) {
    for (let tag = 0; tag < tags; tag += 1) {
      let sum = bias[tag] ?? 0;
      for (let at = 0; at < width; at += 1) sum += (weight[tag * width + at] ?? 0) * (states[word * width + at] ?? 0);
      logits[word * tags + tag] = sum;
    }
  }
  return logProbabilities(logits, tags);
}

interface LayerFit {
  readonly tags: number;
  readonly strength: number;
  readonly start: LinearFit | undefined;
  readonly balanced: boolean;
  readonly signal: AbortSignal;
}

/** Fitted to states of about unit length, as classifiers are, and scaled to read them as they are. */
async function fitLayer(
  solver: LinearSolver,
  sentences: readonly SentenceExample[],
  { tags, strength, start, balanced, signal }: LayerFit,
): Promise<LinearFit> {
  const labels = sentences.flatMap((sentence) => sentence.tags);
  const total = sentences.reduce((sum, { states }) => sum + states.length, 0);
  const vectors = new Float32Array(total);
  let end = 0;
  for (const { states } of sentences) {
    vectors.set(states, end);
    end += states.length;
  }
  const width = total / Math.max(1, labels.length);
  let squares = 0;
  for (const value of vectors) squares += value * value;
  const length = Math.sqrt(squares / Math.max(1, labels.length)) || 1;
  const shares = sentences.flatMap((sentence) => sentence.shares ?? sentence.tags.map(() => undefined));
  const { targets } = tagTargets(
    labels.map((tag, row) => ({ row, tag, shares: shares[row] })),
    { dims: [labels.length, tags], options: { labelSmoothing: 0, balanced }, tagWeights: tagWeights(sentences, tags) },
  );
  const feeds = { targets };
  const problem = {
    vectors: vectors.map((value) => value / length),
    width,
    feeds,
    penalty: 1 / (strength * labels.length),
  };
  const found = await solver.fit(problem, signal, start && scaled(start, length));
  return scaled(found, 1 / length);
}

function scaled({ weight, bias }: LinearFit, factor: number): LinearFit {
  return { weight: weight.map((each) => factor * each), bias };
}

function trainCrf(
  sentences: readonly TaggedSentence[],
  tags: number,
  { lowercase, seed, signal }: FewRowsOptions,
): Promise<CrfExpert> {
  const folded = sentences.map(({ words, tags }) => ({ words: foldWords(words, lowercase), tags }));
  return trainCrfExpert(folded, { tags, seed, signal });
}
