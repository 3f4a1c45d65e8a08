import type { RowHead } from '../../engine/index.js';
import { type CrfExpert, type TagTransitions, trainCrfExpert, viterbi } from '../../lexical/index.js';
import { EXPERT_FILE } from '../../model-folder/index.js';
import type { TextOutputs } from '../../text-reader/index.js';
import type {
  Blend,
  ExpertOptions,
  PartFigures,
  TaskDescription,
  TrainedExpert,
  TrainingTask,
} from '../family.js';
import { augmentMentions } from './augment-mentions.js';
import { bioConstraints } from './bio-constraints.js';
import { fitTagWeights, type TagBlendRows, type TagShares, type TagWeights } from './blend-tags.js';
import { entityScores } from './entity-scores.js';
import { sequenceEvaluation } from './evaluation.js';
import { fitOutsideBias } from './outside-bias.js';
import type { SequenceDataset, TaggedSentence } from './sequence-dataset.js';
import { foldWords, logProbabilities, SequenceDecoder, tagEvidence } from './sequence-decoder.js';
import { sequenceHead } from './sequence-head.js';
import { sentencePlaces, sentenceText, wordOutputs } from './word-pieces.js';
import { guessSplitting } from './words.js';

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
    augmented: (seed) =>
      sequenceTask({ ...dataset, train: [...train, ...augmentMentions(train, tags, seed)] }),
    evaluate(outputs) {
      const predicted = dev.map(({ words }, row) => {
        const logits = wordOutputs(outputs[row] ?? [], sentencePlaces(words), tags.length);
        const path = viterbi(logProbabilities(logits, tags.length), constraints);
        return Array.from(path, (id) => tags[id] ?? '');
      });
      const { f1 } = figuresOf(predicted, dataset);
      return { f1, value: f1 };
    },
    trainExpert: (options) => trainExpert(dataset, constraints, options),
    describe: () => describe(dataset),
  };
}

/**
 * Entity F1 and, for the report alone, the accuracy of the words' tags, which is high even for a poor model.
 */
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
  return {
    finish(outputs) {
      const rows = {
        constraints,
        transitions: expert.transitions,
        sentences: devEvidence(dataset, expert, lowercase, outputs),
      };
      const blend = fitBlend(dataset, rows);
      return {
        blend,
        evaluation: sequenceEvaluation(dataset, rows, blend.blend.weights),
        files: new Map([[EXPERT_FILE, expert.encode()]]),
      };
    },
  };
}

/** What both experts say about the dev sentences. */
function devEvidence(
  { tags, dev }: SequenceDataset,
  expert: CrfExpert,
  lowercase: boolean,
  outputs: readonly TextOutputs[],
): TagBlendRows['sentences'] {
  return dev.map((sentence, row) => {
    const places = sentencePlaces(sentence.words);
    const logits = wordOutputs(outputs[row] ?? [], places, tags.length);
    return { ...tagEvidence(places, logits, tags.length, expert, lowercase), tags: sentence.tags };
  });
}

const ENCODER: TagShares = { encoder: 1, expert: 0 };
const CRF: TagShares = { encoder: 0, expert: 1 };
/**
 * Shares of the encoder in further mixtures to try: the likeliest one doesn't always find the most entities.
 */
const MIXTURES = [0.2, 0.35, 0.5, 0.65, 0.8];

function fitBlend(dataset: SequenceDataset, rows: TagBlendRows): Blend {
  const { tags } = dataset;
  const { constraints, transitions, sentences } = rows;
  const figures = (weights: TagWeights): PartFigures => {
    const decoder = new SequenceDecoder(tags, constraints, transitions, weights);
    const predicted = sentences.map((evidence) => decoder.tagsOf(evidence));
    return { ...figuresOf(predicted, dataset), weights };
  };
  const partOf = (...shares: readonly TagShares[]) =>
    figures(fitOutsideBias(fitTagWeights(rows, shares), tags, (weights) => figures(weights).value));
  const encoder = partOf(ENCODER);
  const alone = partOf(CRF);
  const mixtures = MIXTURES.map((share) => partOf({ encoder: share, expert: 1 - share }));
  const [blend = alone] = [partOf(ENCODER, CRF), ...mixtures, alone, encoder].sort(
    (a, b) => b.value - a.value,
  );
  return { encoder, expert: alone, blend };
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
