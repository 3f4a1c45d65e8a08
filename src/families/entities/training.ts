import type { Dropout, Encoder, EncoderInputs } from '../../encoder/index.js';
import type { LinearEnd, RowHead } from '../../engine/index.js';
import type { Graph, Tensor } from '../../graph/index.js';
import {
  type CrfExpert,
  crfExpertBytes,
  encodeCrfExpert,
  type TagTransitions,
  trainCrfExpert,
  viterbi,
} from '../../lexical/index.js';
import { EXPERT_FILE } from '../../models/index.js';
import { mapSteps, mapWithPauses, Random, runToEnd, type Steps, withPauses } from '../../system/index.js';
import type { TextOutputs, TextWindow } from '../../text/index.js';
import { crossEntropy } from '../cross-entropy.js';
import type {
  AugmentOptions,
  Blend,
  CheckpointHead,
  ExpertOptions,
  FamilyTraining,
  FewRowsTask,
  FinishedTask,
  JudgedText,
  PartFigures,
  TaskDescription,
  TrainedExpert,
  TrainingTask,
} from '../family.js';
import { foldsOf } from '../folds.js';
import { guessSplitting } from '../words.js';
import { foldWords, logProbabilities, SequenceDecoder, tagEvidence } from './bio-decoding.js';
import {
  beginTag,
  bioConstraints,
  type EntitySpan,
  entityTypes,
  insideTag,
  OUTSIDE,
  parseTag,
  spansOf,
} from './bio-tags.js';
import {
  fitOutsideBias,
  fitTagWeights,
  onceForEach,
  sentenceLosses,
  type TagBlendRows,
  type TagShares,
  type TagWeights,
} from './calibration.js';
import { entityScores, type RuledSequences, sequenceEvaluation } from './evaluation.js';
import { type SentenceExample, trainOnFewSentences } from './few-rows.js';
import type { SequenceDataset, TaggedSentence } from './sequence-dataset.js';
import { tagTargets, tagWeights } from './tag-targets.js';
import { firstPieces, sentencePlaces, sentenceText, wordOutputs } from './word-pieces.js';

/** Shares of the sentences that are copied in lower case and in capitals (docs/entities.md#upper-and-lower-case). */
const LOWER_CASE = 1 / 4;
const CAPITALS = 1 / 8;

/** Copies with another mention of a type and, unless the model ignores case, some in lower case or capitals. */
export function augmentSentences(
  sentences: readonly TaggedSentence[],
  tags: readonly string[],
  { seed, lowercase }: AugmentOptions,
): TaggedSentence[] {
  const random = Random.fromSeed(seed);
  const replaced = withOtherMentions(sentences, tags, random).filter((copy, at) => copy !== sentences[at]);
  return lowercase ? replaced : [...replaced, ...inOtherCase(sentences, random)];
}

function inOtherCase(sentences: readonly TaggedSentence[], random: Random): TaggedSentence[] {
  return sentences.flatMap(({ text: _, ...sentence }) => {
    const { words } = sentence;
    const changed = changeCase(words, random.uniform());
    return changed.some((word, at) => word !== words[at]) ? [{ ...sentence, words: changed }] : [];
  });
}

/** @param drawn at least 0 and below 1. */
function changeCase(words: readonly string[], drawn: number): readonly string[] {
  if (drawn < LOWER_CASE) return words.map((word) => word.toLowerCase());
  return drawn < LOWER_CASE + CAPITALS ? words.map((word) => word.toUpperCase()) : words;
}

/** The probability that a mention is replaced ("mention replacement", Dai & Adel 2020). */
const REPLACEMENT_PROBABILITY = 0.5;

type Mentions = readonly (readonly string[])[];

/** Replaces at least one mention by another of its type; a sentence where that is impossible stays the same object. */
export function withOtherMentions(
  sentences: readonly TaggedSentence[],
  tags: readonly string[],
  random: Random,
): TaggedSentence[] {
  const idOf = new Map(tags.map((tag, id) => [tag, id]));
  const located = sentences.map((sentence) => ({
    sentence,
    spans: spansOf(sentence.tags.map((id) => tags[id] ?? '')),
  }));
  const mentions = mentionsByType(located);
  return located.map(({ sentence, spans }) => {
    const replaceable = spans.filter(({ type }) => (mentions.get(type)?.length ?? 0) > 1);
    const chosen = chooseSome(replaceable, random);
    return chosen.length === 0 ? sentence : replaceMentions(sentence, chosen, mentions, idOf, random);
  });
}

function mentionsByType(
  located: readonly { sentence: TaggedSentence; spans: readonly EntitySpan[] }[],
): ReadonlyMap<string, Mentions> {
  const byType = new Map<string, Map<string, readonly string[]>>();
  for (const { sentence, spans } of located) {
    for (const { type, start, end } of spans) {
      const words = sentence.words.slice(start, end);
      const known = byType.get(type) ?? new Map<string, readonly string[]>();
      byType.set(type, known.set(words.join(' '), words));
    }
  }
  return new Map([...byType].map(([type, known]) => [type, [...known.values()]]));
}

/** Chooses each span with the same probability, but at least one. */
function chooseSome(spans: readonly EntitySpan[], random: Random): readonly EntitySpan[] {
  if (spans.length === 0) return [];
  const sure = random.integer(spans.length);
  return spans.filter((_, index) => random.uniform() < REPLACEMENT_PROBABILITY || index === sure);
}

function replaceMentions(
  sentence: TaggedSentence,
  spans: readonly EntitySpan[],
  mentions: ReadonlyMap<string, Mentions>,
  idOf: ReadonlyMap<string, number>,
  random: Random,
): TaggedSentence {
  const words = [...sentence.words];
  const tags = [...sentence.tags];
  const shares = sentence.shares && [...sentence.shares];
  // From the right, so that the spans still to come stay where they are.
  for (const { type, start, end } of [...spans].reverse()) {
    const others = mentions.get(type) ?? [];
    const mention = otherThan(words.slice(start, end), others, random);
    const mentionTags = mention.map((_, index) => (index === 0 ? beginTag(type) : insideTag(type)));
    words.splice(start, end - start, ...mention);
    tags.splice(start, end - start, ...mentionTags.flatMap((tag) => idOf.get(tag) ?? []));
    shares?.splice(start, end - start, ...mention.map(() => undefined));
  }
  return { words, tags, ...(shares && { shares }) };
}

/** Any of the mentions but this one, all equally likely. */
function otherThan(mention: readonly string[], mentions: Mentions, random: Random): readonly string[] {
  const text = mention.join(' ');
  const own = mentions.findIndex((words) => words.join(' ') === text);
  const other = random.integer(mentions.length - 1);
  return mentions[other < own ? other : other + 1] ?? mention;
}

/** Predicts a tag for the first piece of every word; its targets are the tags of the training sentences. */
export function sequenceHead({ tags, train }: SequenceDataset): RowHead {
  const places = train.map(({ words }) => sentencePlaces(words));
  const weights = tagWeights(train, tags.length);
  const labelled = (batch: readonly TextWindow[]) =>
    batch.map(({ row, encoding }) =>
      firstPieces(encoding, places[row] ?? []).map(({ word, token }) => ({
        token,
        tag: train[row]?.tags[word] ?? 0,
        shares: train[row]?.shares?.[word],
      })),
    );
  return {
    kind: 'rows',
    per: 'token',
    outputs: () => tags.length,
    parameters: (encoder) => [...encoder.parameters(encoder.prefix), ...encoder.tokenHead.parameters(tags.length)],
    logits: (graph, encoder, inputs, dropout) => tokenLogits(graph, encoder, inputs, tags.length, dropout),
    loss: crossEntropy,
    linearEnd: (encoder) =>
      tokenEnd(encoder, tags.length, (batch, options) => {
        const tokens = labelled(batch);
        const all = tokens.flat();
        const dims = [all.length, tags.length];
        const { targets } = tagTargets(
          all.map(({ tag, shares }, row) => ({ row, tag, shares })),
          { dims, options, tagWeights: weights },
        );
        return { places: tokens.map((text) => text.map(({ token }) => token)), feeds: { targets } };
      }),
    targets(batch, options) {
      const rows = labelled(batch).flatMap((text, at) =>
        text.map(({ token, tag, shares }) => ({ row: token * batch.length + at, tag, shares })),
      );
      const tokens = batch.reduce((longest, { encoding }) => Math.max(longest, encoding.ids.length), 0);
      const dims = [tokens, batch.length, tags.length];
      const { targets, weight } = tagTargets(rows, { dims, options, tagWeights: weights });
      return { feeds: { targets }, weight };
    },
  };
}

/** Encoder and transformers' token classifier over every hidden state. @returns logits [tokens, batch, tags]. */
function tokenLogits(graph: Graph, encoder: Encoder, inputs: EncoderInputs, tags: number, dropout?: Dropout): Tensor {
  const states = encoder.states(graph, inputs, { prefix: encoder.prefix, ...(dropout && { dropout }) });
  return graph.reshape(encoder.tokenHead.logits(graph, states, tags, dropout), ['tokens', 'batch', tags]);
}

/** What {@link tokenLogits} ends with, unless layers that start at random come before it. */
function tokenEnd(
  encoder: Encoder,
  tags: number,
  labelledTokens: NonNullable<LinearEnd['labelledTokens']>,
): LinearEnd | undefined {
  const { prefix, width, tokenHead } = encoder;
  const [weight, bias] = tokenHead.parameters(tags);
  if (tokenHead.inner.length > 0 || weight === undefined || bias === undefined) return undefined;
  return {
    weight: weight.name,
    bias: bias.name,
    lossesPerRow: 1,
    states: (graph, _, inputs) => graph.reshape(encoder.states(graph, inputs, { prefix }), ['tokens', 'batch', width]),
    labelledTokens,
  };
}

type RuledDataset = SequenceDataset & RuledSequences;

export function sequenceTask(dataset: RuledDataset): TrainingTask<RowHead> {
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
    fewRows: fewRowsTask(dataset, constraints),
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
  dataset: RuledDataset,
  constraints: TagTransitions,
  { lowercase, seed, signal }: ExpertOptions,
): Promise<TrainedExpert> {
  const sentences = dataset.train.map(({ words, tags }) => ({ words: foldWords(words, lowercase), tags }));
  const expert = await trainCrfExpert(sentences, { tags: dataset.tags.length, seed, signal });
  const finish = function* (outputs: readonly TextOutputs[]): Steps<FinishedTask> {
    const sentences = yield* devEvidence(dataset, expert, lowercase, outputs);
    return yield* finishedTask(dataset, { constraints, sentences }, expert);
  };
  return { finish: (outputs, signal) => withPauses(finish(outputs), signal) };
}

/** Blends encoder and CRF as suits the judged sentences best, and measures the blend on them. @param dataset its dev is judged */
function* finishedTask(dataset: RuledDataset, rows: TagBlendRows, expert: CrfExpert): Steps<FinishedTask> {
  const fitted = yield* fitBlend(dataset, rows);
  const { evaluation, ruled } = yield* sequenceEvaluation(dataset, rows, fitted.blend.weights);
  const blend = ruled ? { ...fitted, blend: { ...fitted.blend, ...ruled } } : fitted;
  return {
    blend,
    evaluation,
    judgedTexts: yield* answeredSentences(dataset, rows, blend.blend.weights),
    files: new Map([[EXPERT_FILE, encodeCrfExpert(expert)]]),
  };
}

function answeredSentences(
  { tags, dev }: SequenceDataset,
  { constraints, sentences }: TagBlendRows,
  weights: TagWeights,
): Steps<JudgedText[]> {
  const decoder = onceForEach((each: TagTransitions) => new SequenceDecoder(tags, constraints, each, weights));
  return mapSteps(sentences, (sentence, row) => {
    const found = spansOf(decoder(sentence.transitions).tagsOf(sentence));
    return { text: sentenceText(dev[row]?.words ?? []), labels: [...new Set(found.map(({ type }) => type))] };
  });
}

function fewRowsTask(dataset: RuledDataset, constraints: TagTransitions): FewRowsTask {
  const { tags, isDevDrawn = false } = dataset;
  const train = isDevDrawn ? [...dataset.train, ...dataset.dev] : dataset.train;
  const dev = isDevDrawn ? [] : dataset.dev;
  const all = [...train, ...dev];
  const places = all.map(({ words }) => sentencePlaces(words));
  const pick = (at: readonly number[], states: readonly Float32Array[]) =>
    at.flatMap((row): SentenceExample[] => {
      const [sentence, own] = [all[row], states[row]];
      return sentence && own ? [{ ...sentence, states: own }] : [];
    });
  return {
    texts: all.map(({ words }) => sentenceText(words)),
    trainRows: train.length,
    // The trained one found more entities in 12 of 15 samples of three datasets.
    encoderTraining: { epochs: 10, isKept: 'always' },
    statesOf: (row, windows) => wordOutputs(windows, places[row] ?? [], widthOf(windows)),
    splits(seed, folds) {
      const hasEntity = train.map((sentence) => Number(sentence.tags.some((id) => tags[id] !== OUTSIDE)));
      if (dev.length === 0) return foldsOf(hasEntity, seed, folds);
      return [{ train: [...train.keys()], judged: [...dev.keys()].map((row) => train.length + row) }];
    },
    examples: (at) => at,
    head: (at) => sequenceHead({ ...dataset, train: at.flatMap((row) => all[row] ?? []) }),
    async learn(states, judging, options) {
      const splits = judging.map((split) => ({
        train: pick(split.train, split.states),
        judged: pick(split.judged, split.states),
      }));
      const examples = pick([...train.keys()], states);
      const learned = await trainOnFewSentences(tags.length, examples, splits, options);
      const { layer, splitLayers, expert, judged, choices } = learned;
      const rows = { constraints, sentences: judged };
      const work = function* () {
        const finished = yield* finishedTask({ ...dataset, dev: judged }, rows, expert);
        return { finished, losses: Float64Array.from(yield* sentenceLosses(rows, finished.blend.blend.weights)) };
      };
      return {
        ...(await withPauses(work(), options.signal)),
        ...{ layer, splitLayers, choices, warnings: [] },
        judged: { rows: judged.length, ...(dev.length === 0 && { folds: splits.length }) },
      };
    },
  };
}

/** What a head per token gives for each. */
function widthOf([window]: TextOutputs): number {
  return window === undefined ? 0 : window.outputs.length / window.encoding.ids.length;
}

function devEvidence(
  { tags, dev }: SequenceDataset,
  expert: CrfExpert,
  lowercase: boolean,
  outputs: readonly TextOutputs[],
): Steps<TagBlendRows['sentences']> {
  return mapSteps(dev, (sentence, row) => {
    const places = sentencePlaces(sentence.words);
    const logits = wordOutputs(outputs[row] ?? [], places, tags.length);
    const evidence = runToEnd(tagEvidence(places, logits, tags.length, expert, lowercase));
    return { ...evidence, transitions: expert.transitions, tags: sentence.tags };
  });
}

const ENCODER: TagShares = { encoder: 1, expert: 0 };
const CRF: TagShares = { encoder: 0, expert: 1 };
/** Shares of the encoder in further mixtures to try: the likeliest one doesn't always find the most entities. */
const MIXTURES = [0.2, 0.35, 0.5, 0.65, 0.8];

function* fitBlend(dataset: SequenceDataset, rows: TagBlendRows): Steps<Blend> {
  const { tags } = dataset;
  const { constraints, sentences } = rows;
  const figures = function* (weights: TagWeights): Steps<PartFigures> {
    const decoder = onceForEach(
      (transitions: TagTransitions) => new SequenceDecoder(tags, constraints, transitions, weights),
    );
    const predicted = yield* mapSteps(sentences, (sentence) => decoder(sentence.transitions).tagsOf(sentence));
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

/** The sentences for the head of a checkpoint: its tags are BIO, for the same types. @returns undefined if they aren't. */
function continuedDataset(dataset: SequenceDataset, { per, labels }: CheckpointHead): SequenceDataset | undefined {
  const { tags, train, dev } = dataset;
  const types = (some: readonly string[]) => [...entityTypes(some)].sort().join(' ');
  const areBio = labels.every((label) => label === OUTSIDE || parseTag(label) !== undefined);
  const places = tags.map((tag) => labels.indexOf(tag));
  if (per !== 'token' || !areBio || places.includes(-1) || types(tags) !== types(labels)) return undefined;
  const moved = ({ tags: ids, shares, ...sentence }: TaggedSentence): TaggedSentence => ({
    ...sentence,
    tags: ids.map((id) => places[id] ?? 0),
    ...(shares && { shares: shares.map((each) => each && labels.map((label) => each[tags.indexOf(label)] ?? 0)) }),
  });
  return { ...dataset, tags: labels, train: train.map(moved), dev: dev.map(moved) };
}

export const grapefruitTraining: FamilyTraining<SequenceDataset> = {
  task(dataset, head, { rules } = {}) {
    const continued = head && continuedDataset(dataset, head);
    if (continued === undefined) return sequenceTask({ ...dataset, rules });
    // From few rows, the head would be learned anew.
    const { fewRows, ...task } = sequenceTask({ ...continued, rules });
    return { ...task, continuesHead: true };
  },
  exportedOutputs: (graph, encoder, inputs, { orchard }) => ({
    name: 'logits',
    tensor: graph.transpose(tokenLogits(graph, encoder, inputs, orchard.labels.length), [1, 0, 2]),
  }),
};
