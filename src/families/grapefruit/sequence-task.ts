import type { Result } from 'neverthrow';
import type { AbortedError } from '../../errors.js';
import type { TensorData } from '../../graph/index.js';
import { type CrfExpert, type TagTransitions, trainCrfExpert, viterbi } from '../../lexical/index.js';
import { EXPERT_FILE } from '../../model-folder/index.js';
import type {
  Blend,
  ExpertOptions,
  LossTargets,
  PartFigures,
  Scores,
  TargetOptions,
  TaskDescription,
  TextOutputs,
  TextWindow,
  TrainedExpert,
  TrainingHead,
  TrainingTask,
} from '../family.js';
import { augmentMentions } from './augment-mentions.js';
import { bioConstraints } from './bio-constraints.js';
import { fitTagWeights, type TagBlendRows, type TagWeights } from './blend-tags.js';
import { entityScores } from './entity-scores.js';
import { fitOutsideBias } from './outside-bias.js';
import type { SequenceDataset, TaggedSentence } from './sequence-dataset.js';
import { foldWords, logProbabilities, SequenceDecoder, tagEvidence } from './sequence-decoder.js';
import { tagWeights } from './tag-weights.js';
import { tokenLogits, tokenLoss, tokenParameters } from './token-head.js';
import { firstPieces, sentencePlaces, sentenceText, wordOutputs } from './word-pieces.js';
import { guessSplitting } from './words.js';

/** A sequence labelling dataset as the training loop sees it. */
export function sequenceTask(dataset: SequenceDataset): TrainingTask {
  const { tags, train, dev, warnings } = dataset;
  const constraints = bioConstraints(tags);
  const texts = (sentences: readonly TaggedSentence[]) => sentences.map(({ words }) => sentenceText(words));
  return {
    warnings,
    train: texts(train),
    dev: texts(dev),
    mainMetric: 'f1',
    head: sequenceHead(dataset),
    augmented: (seed) =>
      sequenceTask({ ...dataset, train: [...train, ...augmentMentions(train, tags, seed)] }),
    evaluate(outputs) {
      const predicted = dev.map(({ words }, row) => {
        const logits = wordOutputs(outputs[row] ?? [], sentencePlaces(words), tags.length);
        const path = viterbi(logProbabilities(logits, tags.length), constraints);
        return Array.from(path, (id) => tags[id] ?? '');
      });
      return scoresOf(predicted, dataset);
    },
    trainExpert: (options) => trainExpert(dataset, constraints, options),
    describe: () => describe(dataset),
  };
}

function scoresOf(predicted: readonly (readonly string[])[], { tags, dev }: SequenceDataset): Scores {
  const actual = dev.map((sentence) => sentence.tags.map((id) => tags[id] ?? ''));
  const { accuracy, f1 } = entityScores(predicted, actual);
  return { accuracy, f1, value: f1 };
}

async function trainExpert(
  dataset: SequenceDataset,
  constraints: TagTransitions,
  { lowercase, seed, signal }: ExpertOptions,
): Promise<Result<TrainedExpert, AbortedError>> {
  const sentences = dataset.train.map(({ words, tags }) => ({ words: foldWords(words, lowercase), tags }));
  const trained = await trainCrfExpert(sentences, { tags: dataset.tags.length, seed, signal });
  return trained.map((expert) => ({
    finish: (outputs) => ({
      blend: fitBlend(dataset, constraints, expert, lowercase, outputs),
      files: new Map([[EXPERT_FILE, expert.encode()]]),
    }),
  }));
}

function fitBlend(
  dataset: SequenceDataset,
  constraints: TagTransitions,
  expert: CrfExpert,
  lowercase: boolean,
  outputs: readonly TextOutputs[],
): Blend {
  const { tags, dev } = dataset;
  const sentences = dev.map((sentence, row) => {
    const places = sentencePlaces(sentence.words);
    const logits = wordOutputs(outputs[row] ?? [], places, tags.length);
    return { ...tagEvidence(places, logits, tags.length, expert, lowercase), tags: sentence.tags };
  });
  const rows: TagBlendRows = { constraints, transitions: expert.transitions, sentences };
  const figures = (weights: TagWeights): PartFigures => {
    const decoder = new SequenceDecoder(tags, constraints, expert.transitions, weights);
    const predicted = sentences.map((evidence) => decoder.tagsOf(evidence));
    return { ...scoresOf(predicted, dataset), weights };
  };
  const fit = (...fitted: Parameters<typeof fitTagWeights>[1]) =>
    figures(fitOutsideBias(fitTagWeights(rows, fitted), tags, (weights) => figures(weights).value));
  const encoder = fit('encoder');
  const alone = fit('expert');
  const both = fit('encoder', 'expert');
  const [blend = both] = [both, alone, encoder].sort((a, b) => b.value - a.value);
  return { encoder, expert: alone, blend };
}

function sequenceHead({ tags, train }: SequenceDataset): TrainingHead {
  const places = train.map(({ words }) => sentencePlaces(words));
  const weights = tagWeights(train, tags.length);
  return {
    outputs: () => tags.length,
    per: 'token',
    parameters: (encoder) => tokenParameters(encoder, tags.length),
    logits: (graph, encoder, inputs, dropout) => tokenLogits(graph, encoder, inputs, tags.length, dropout),
    loss: tokenLoss,
    targets(batch, options) {
      const labels = batch.map(({ row, encoding }) =>
        firstPieces(encoding, places[row] ?? []).map(({ word, token }) => ({
          token,
          tag: train[row]?.tags[word] ?? 0,
        })),
      );
      return tokenTargets(batch, labels, tags.length, options, weights);
    },
  };
}

interface LabelledToken {
  readonly token: number;
  readonly tag: number;
}

/** Shares of each labelled token's weight in the batch; other tokens have none. */
function tokenTargets(
  batch: readonly TextWindow[],
  labels: readonly (readonly LabelledToken[])[],
  tags: number,
  { labelSmoothing, balanced }: TargetOptions,
  tagWeights: readonly number[],
): LossTargets {
  const weightOf = (tag: number) => (balanced ? (tagWeights[tag] ?? 1) : 1);
  const total = labels.flat().reduce((sum, { tag }) => sum + weightOf(tag), 0);
  const tokens = batch.reduce((longest, { encoding }) => Math.max(longest, encoding.ids.length), 0);
  const data = new Float32Array(tokens * batch.length * tags);
  for (const [row, labelled] of labels.entries()) {
    for (const { token, tag } of labelled) {
      const at = (token * batch.length + row) * tags;
      const share = weightOf(tag) / total;
      data.fill((share * labelSmoothing) / tags, at, at + tags);
      data[at + tag] = share * (1 - labelSmoothing + labelSmoothing / tags);
    }
  }
  const targets: TensorData = { type: 'float32', dims: [tokens, batch.length, tags], data };
  return { feeds: { targets }, weight: total };
}

function describe({ tags, train }: SequenceDataset): TaskDescription {
  return {
    architectures: ['BertForTokenClassification'],
    id2label: Object.fromEntries(tags.map((tag, id) => [String(id), tag])),
    label2id: Object.fromEntries(tags.map((tag, id) => [tag, id])),
    labels: [...tags],
    pooling: 'none',
    words: guessSplitting(train.map(({ words }) => words)),
  };
}
