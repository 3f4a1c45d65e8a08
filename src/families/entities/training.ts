import type { RowHead } from '../../engine/index.js';
import { type CrfExpert, crfExpertBytes, type TagTransitions, trainCrfExpert, viterbi } from '../../lexical/index.js';
import { EXPERT_FILE } from '../../models/index.js';
import { mapSteps, mapWithPauses, runToEnd, type Steps, withPauses } from '../../system/index.js';
import type { TextOutputs } from '../../text/index.js';
import type {
  Blend,
  ExpertOptions,
  FamilyTraining,
  FinishedTask,
  PartFigures,
  TaskDescription,
  TrainedExpert,
  TrainingTask,
} from '../family.js';
import { guessSplitting } from '../words.js';
import { augmentSentences } from './augmentation.js';
import { foldWords, logProbabilities, SequenceDecoder, tagEvidence } from './bio-decoding.js';
import { bioConstraints } from './bio-tags.js';
import { fitOutsideBias, fitTagWeights, type TagBlendRows, type TagShares, type TagWeights } from './calibration.js';
import { entityScores, sequenceEvaluation } from './evaluation.js';
import { sequenceHead, tokenLogits } from './head.js';
import type { SequenceDataset, TaggedSentence } from './sequence-dataset.js';
import { sentencePlaces, sentenceText, wordOutputs } from './word-pieces.js';

/** A sequence labelling dataset as the training loop sees it. */
export function sequenceTask(dataset: SequenceDataset): TrainingTask<RowHead> {
  const { tags, train, dev, warnings } = dataset;
  const constraints = bioConstraints(tags);
  const texts = (sentences: readonly TaggedSentence[]) => sentences.map(({ words }) => sentenceText(words));
  return {
    warnings,
    train: texts(train),
    dev: texts(dev),
    mainMetric: 'f1',
    head: sequenceHead(dataset),
    augmented: (options) => sequenceTask({ ...dataset, train: [...train, ...augmentSentences(train, tags, options)] }),
    async evaluate(outputs, signal) {
      const decode = ({ words }: TaggedSentence, row: number) => {
        const logits = wordOutputs(outputs[row] ?? [], sentencePlaces(words), tags.length);
        const path = viterbi(logProbabilities(logits, tags.length), constraints);
        return Array.from(path, (id) => tags[id] ?? '');
      };
      const predicted = await mapWithPauses(dev, decode, signal);
      const { f1 } = figuresOf(predicted, dataset);
      return { f1, value: f1 };
    },
    trainExpert: (options) => trainExpert(dataset, constraints, options),
    expertBytes: () => crfExpertBytes(train, tags.length),
    describe: () => describe(dataset),
  };
}

/** Entity F1 and, for the report alone, the accuracy of the words' tags, which is high even for a poor model. */
function figuresOf(predicted: readonly (readonly string[])[], { tags, dev }: SequenceDataset) {
  const actual = dev.map((sentence) => sentence.tags.map((id) => tags[id] ?? ''));
  const { accuracy, f1 } = entityScores(predicted, actual);
  return { accuracy, f1, value: f1 };
}

async function trainExpert(
  dataset: SequenceDataset,
  constraints: TagTransitions,
  { lowercase, seed, signal }: ExpertOptions,
): Promise<TrainedExpert> {
  const sentences = dataset.train.map(({ words, tags }) => ({ words: foldWords(words, lowercase), tags }));
  const expert = await trainCrfExpert(sentences, { tags: dataset.tags.length, seed, signal });
  const finish = function* (outputs: readonly TextOutputs[]): Steps<FinishedTask> {
    const sentences = yield* devEvidence(dataset, expert, lowercase, outputs);
    const rows = { constraints, transitions: expert.transitions, sentences };
    const blend = yield* fitBlend(dataset, rows);
    return {
      blend,
      evaluation: yield* sequenceEvaluation(dataset, rows, blend.blend.weights),
      files: new Map([[EXPERT_FILE, expert.encode()]]),
    };
  };
  return { finish: (outputs, signal) => withPauses(finish(outputs), signal) };
}

/** What both experts say about the dev sentences. */
function devEvidence(
  { tags, dev }: SequenceDataset,
  expert: CrfExpert,
  lowercase: boolean,
  outputs: readonly TextOutputs[],
): Steps<TagBlendRows['sentences']> {
  return mapSteps(dev, (sentence, row) => {
    const places = sentencePlaces(sentence.words);
    const logits = wordOutputs(outputs[row] ?? [], places, tags.length);
    return { ...runToEnd(tagEvidence(places, logits, tags.length, expert, lowercase)), tags: sentence.tags };
  });
}

const ENCODER: TagShares = { encoder: 1, expert: 0 };
const CRF: TagShares = { encoder: 0, expert: 1 };
/** Shares of the encoder in further mixtures to try: the likeliest one doesn't always find the most entities. */
const MIXTURES = [0.2, 0.35, 0.5, 0.65, 0.8];

function* fitBlend(dataset: SequenceDataset, rows: TagBlendRows): Steps<Blend> {
  const { tags } = dataset;
  const { constraints, transitions, sentences } = rows;
  const figures = function* (weights: TagWeights): Steps<PartFigures> {
    const decoder = new SequenceDecoder(tags, constraints, transitions, weights);
    const predicted = yield* mapSteps(sentences, (evidence) => decoder.tagsOf(evidence));
    return { ...figuresOf(predicted, dataset), weights };
  };
  const scoreOf = function* (weights: TagWeights): Steps<number> {
    return (yield* figures(weights)).value;
  };
  const partOf = function* (...shares: readonly TagShares[]): Steps<PartFigures> {
    const fitted = yield* fitTagWeights(rows, shares);
    return yield* figures(yield* fitOutsideBias(fitted, tags, scoreOf));
  };
  const encoder = yield* partOf(ENCODER);
  const alone = yield* partOf(CRF);
  const mixtures: PartFigures[] = [];
  for (const share of MIXTURES) mixtures.push(yield* partOf({ encoder: share, expert: 1 - share }));
  const [blend = alone] = [yield* partOf(ENCODER, CRF), ...mixtures, alone, encoder].sort((a, b) => b.value - a.value);
  return { encoder, expert: alone, blend };
}

function describe({ tags, train }: SequenceDataset): TaskDescription {
  return {
    id2label: Object.fromEntries(tags.map((tag, id) => [String(id), tag])),
    label2id: Object.fromEntries(tags.map((tag, id) => [tag, id])),
    labels: [...tags],
    pooling: 'none',
    words: guessSplitting(train.map(({ words }) => words)),
  };
}

export const grapefruitTraining: FamilyTraining<SequenceDataset> = {
  task: sequenceTask,
  exportedOutputs: (graph, encoder, inputs, { orchard }) => ({
    name: 'logits',
    tensor: graph.transpose(tokenLogits(graph, encoder, inputs, orchard.labels.length), [1, 0, 2]),
  }),
};
