import type { TagTransitions } from '../../lexical/index.js';
import {
  type Calibration,
  type ClassFigures,
  listedMistakes,
  type Mistake,
  type ModelEvaluation,
} from '../../models/index.js';
import { mapSteps, runToEnd, type Steps } from '../../system/index.js';
import { calibrationBins, expectedCalibrationError, figuresOf } from '../evaluation.js';
import { type FoundEntity, SequenceDecoder } from './bio-decoding.js';
import { type EntitySpan, entityTypes, spansOf } from './bio-tags.js';
import { onceForEach, type TagBlendRows, type TagWeights } from './calibration.js';
import type { SequenceDataset } from './sequence-dataset.js';
import { sentenceText } from './word-pieces.js';

/** How well entities of one type, or of all types, were found; an entity counts if type, start and end are right. */
interface EntityFigures {
  /** Share of the predicted entities that are right; 0 if none was predicted. */
  readonly precision: number;
  /** Share of the true entities that were found; 0 if there is none. */
  readonly recall: number;
  /** Harmonic mean of the two; 0 if both are 0. */
  readonly f1: number;
  readonly support: number;
  readonly predicted: number;
}

interface EntityScores extends EntityFigures {
  /** Share of the words whose tag is right, O included. */
  readonly accuracy: number;
  /** By entity type, sorted; every type that is true or predicted somewhere. */
  readonly types: ReadonlyMap<string, EntityFigures>;
}

interface SpanCounts {
  correct: number;
  support: number;
  predicted: number;
}

/** Micro-averaged over all entities. @throws RangeError if a sentence has more or fewer predicted than true tags */
export function entityScores(
  predicted: readonly (readonly string[])[],
  actual: readonly (readonly string[])[],
): EntityScores {
  const total: SpanCounts = { correct: 0, support: 0, predicted: 0 };
  const byType = new Map<string, SpanCounts>();
  let words = 0;
  let rightWords = 0;
  for (const [index, truth] of actual.entries()) {
    const guess = predicted[index] ?? [];
    if (guess.length !== truth.length) {
      throw new RangeError(`sentence ${index} has ${truth.length} tags, but ${guess.length} predicted ones were given`);
    }
    words += truth.length;
    rightWords += truth.filter((tag, word) => tag === guess[word]).length;
    countSpans(spansOf(guess), spansOf(truth), total, byType);
  }
  const types = [...byType].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...figures(total),
    accuracy: words === 0 ? 0 : rightWords / words,
    types: new Map(types.map(([type, counts]) => [type, figures(counts)])),
  };
}

function countSpans(
  predicted: readonly EntitySpan[],
  actual: readonly EntitySpan[],
  total: SpanCounts,
  byType: Map<string, SpanCounts>,
): void {
  const add = (count: keyof SpanCounts, type: string) => {
    const counts = byType.get(type) ?? { correct: 0, support: 0, predicted: 0 };
    counts[count] += 1;
    byType.set(type, counts);
    total[count] += 1;
  };
  const truth = new Map(actual.map((span) => [span.start, span]));
  for (const { type } of actual) add('support', type);
  for (const { type, start, end } of predicted) {
    add('predicted', type);
    const same = truth.get(start);
    if (same?.type === type && same.end === end) add('correct', type);
  }
}

function figures({ correct, support, predicted }: SpanCounts): EntityFigures {
  return { ...figuresOf(correct, predicted - correct, support - correct), predicted };
}

/** Both experts added as they are, for the calibration error before fitting. */
const UNWEIGHED: TagWeights = { encoder: 1, expert: 1, bias: [] };

export function* sequenceEvaluation(
  { tags, dev }: Pick<SequenceDataset, 'tags' | 'dev'>,
  rows: TagBlendRows,
  weights: TagWeights,
): Steps<ModelEvaluation> {
  const decoderWith = (each: TagWeights) =>
    onceForEach((transitions: TagTransitions) => new SequenceDecoder(tags, rows.constraints, transitions, each));
  const decoder = decoderWith(weights);
  const unweighed = decoderWith(UNWEIGHED);
  const actualTags = rows.sentences.map((sentence) => sentence.tags.map((id) => tags[id] ?? ''));
  const predictedTags = yield* mapSteps(rows.sentences, (sentence) => decoder(sentence.transitions).tagsOf(sentence));
  const answers = yield* mapSteps(
    rows.sentences,
    (sentence, row): Answer => ({
      words: dev[row]?.words ?? [],
      actual: decoder(sentence.transitions).scored(sentence, spansOf(actualTags[row] ?? [])),
      found: runToEnd(decoder(sentence.transitions).entities(sentence)),
      foundBefore: runToEnd(unweighed(sentence.transitions).entities(sentence)),
    }),
  );
  const calibration = calibrationOf(answers);
  return {
    format: 1,
    rows: dev.length,
    classes: classFigures(tags, entityScores(predictedTags, actualTags).types),
    ...(calibration && { calibration }),
    mistakes: listedMistakes(answers.flatMap(mistakeOf)),
  };
}

interface Answer {
  readonly words: readonly string[];
  /** The true entities, with the scores that the model gives them. */
  readonly actual: readonly FoundEntity[];
  readonly found: readonly FoundEntity[];
  /** What both experts found before they were weighted. */
  readonly foundBefore: readonly FoundEntity[];
}

/** The figures of every type among the tags, including those without an entity in dev. */
function classFigures(tags: readonly string[], scores: ReturnType<typeof entityScores>['types']): ClassFigures[] {
  return entityTypes(tags).map((label) => {
    const { precision = 0, recall = 0, f1 = 0, support = 0 } = scores.get(label) ?? {};
    return { label, precision, recall, f1, support };
  });
}

const holds = (spans: readonly EntitySpan[], { type, start, end }: EntitySpan): boolean =>
  spans.some((span) => span.type === type && span.start === start && span.end === end);

function calibrationOf(answers: readonly Answer[]): Calibration | undefined {
  const decisionsOf = (found: 'found' | 'foundBefore') =>
    answers.flatMap((answer) =>
      answer[found].map((entity) => ({ confidence: entity.score, right: holds(answer.actual, entity) })),
    );
  const decisions = decisionsOf('found');
  if (decisions.length === 0) return undefined;
  return {
    bins: calibrationBins(decisions),
    error: expectedCalibrationError(decisions),
    error_before: expectedCalibrationError(decisionsOf('foundBefore')),
  };
}

/** Its score is the highest probability of a wrong entity or, if entities are only missing, that one is absent. */
function mistakeOf({ words, actual, found }: Answer): Mistake[] {
  const wrong = found.filter((entity) => !holds(actual, entity));
  const missed = actual.filter((entity) => !holds(found, entity));
  if (wrong.length === 0 && missed.length === 0) return [];
  const confidences = wrong.length > 0 ? wrong.map(({ score }) => score) : missed.map(({ score }) => 1 - score);
  const named = (entities: readonly EntitySpan[]) =>
    entities.map(({ type, start, end }) => `${sentenceText(words.slice(start, end))} (${type})`);
  const score = Math.max(...confidences);
  return [{ text: sentenceText(words), expected: named(actual), predicted: named(found), score }];
}
