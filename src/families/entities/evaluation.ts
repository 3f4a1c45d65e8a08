import type { TagTransitions } from '../../lexical/index.js';
import {
  type Calibration,
  type ClassFigures,
  listedMistakes,
  type Mistake,
  type ModelEvaluation,
  typesOfRules,
} from '../../models/index.js';
import { mapSteps, runToEnd, type Steps } from '../../system/index.js';
import { calibrationBins, expectedCalibrationError, figuresOf } from '../evaluation.js';
import { placeOf } from '../explanation.js';
import { outsideOf, type RuleSet, ruledEntities } from '../rules.js';
import { type FoundEntity, SequenceDecoder } from './bio-decoding.js';
import { beginTag, type EntitySpan, entityTypes, insideTag, OUTSIDE, spansOf } from './bio-tags.js';
import { onceForEach, type TagBlendRows, type TagWeights } from './calibration.js';
import type { SequenceDataset } from './sequence-dataset.js';
import { placesIn, sentenceText } from './word-pieces.js';

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

interface EvaluatedSentences {
  readonly evaluation: ModelEvaluation;
  /** What the answers reach with rules; absent without rules. */
  readonly ruled?: { readonly accuracy: number; readonly f1: number };
}

export function* sequenceEvaluation(
  { tags, dev, rules }: RuledSequences,
  rows: TagBlendRows,
  weights: TagWeights,
): Steps<EvaluatedSentences> {
  const decoderWith = (each: TagWeights) =>
    onceForEach((transitions: TagTransitions) => new SequenceDecoder(tags, rows.constraints, transitions, each));
  const decoder = decoderWith(weights);
  const unweighed = decoderWith(UNWEIGHED);
  const actualTags = rows.sentences.map((sentence) => sentence.tags.map((id) => tags[id] ?? ''));
  const predictedTags = yield* mapSteps(rows.sentences, (sentence) => decoder(sentence.transitions).tagsOf(sentence));
  const answers = yield* mapSteps(rows.sentences, (sentence, row): Answer => {
    const { words = [] } = dev[row] ?? {};
    return {
      words,
      nameOf: ({ start, end }) => sentenceText(words.slice(start, end)),
      actual: decoder(sentence.transitions).scored(sentence, spansOf(actualTags[row] ?? [])),
      found: runToEnd(decoder(sentence.transitions).entities(sentence)),
      foundBefore: runToEnd(unweighed(sentence.transitions).entities(sentence)),
    };
  });
  const calibration = calibrationOf(answers);
  const common = { format: 1, rows: dev.length, ...(calibration && { calibration }) } as const;
  const types = entityTypes(tags);
  if (rules === undefined) {
    const classes = classFigures(types, entityScores(predictedTags, actualTags).types);
    return { evaluation: { ...common, classes, mistakes: listedMistakes(answers.flatMap(mistakeOf)) } };
  }
  const ruled = yield* mapSteps(answers, (answer, row) => ruledAnswer(answer, dev[row]?.text, rules));
  const scores = spanScores(ruled);
  const classes = classFigures([...new Set([...types, ...typesOfRules(rules.rules)])], scores.types);
  const { accuracy } = entityScores(
    ruled.map((answer) => answer.tags),
    actualTags,
  );
  return {
    evaluation: { ...common, classes, mistakes: listedMistakes(ruled.flatMap(mistakeOf)) },
    ruled: { accuracy, f1: scores.f1 },
  };
}

/** Sentences, and the rules that their model will answer with. */
export interface RuledSequences extends Pick<SequenceDataset, 'tags' | 'dev'> {
  readonly rules?: RuleSet | undefined;
}

interface RuledAnswer extends Omit<Answer, 'foundBefore'> {
  /** The tag of each word that an entity covers, even in part. */
  readonly tags: readonly string[];
}

/** The same with what rules find. Places are those of characters: a rule's entity may begin within a word. */
function ruledAnswer({ words, actual, found }: Answer, known: string | undefined, rules: RuleSet): RuledAnswer {
  const text = known ?? sentenceText(words);
  const places = placesIn(words, known);
  const placed = <Span extends EntitySpan>(span: Span) => {
    const { from, to } = placeOf(places, { first: span.start, end: span.end });
    return { ...span, start: from, end: to };
  };
  const byRules = ruledEntities(rules, rules.matches(text), text.length);
  const own = outsideOf(found.map(placed), byRules);
  const all = [...own, ...byRules.map(({ type, start, end }) => ({ type, start, end, score: 1 }))].sort(
    (a, b) => a.start - b.start,
  );
  const tags = places.map(({ text: word, start }) => {
    const entity = all.find((each) => each.start < start + word.length && each.end > start);
    if (entity === undefined) return OUTSIDE;
    return entity.start >= start ? beginTag(entity.type) : insideTag(entity.type);
  });
  return { words, actual: actual.map(placed), found: all, tags, nameOf: (span) => text.slice(span.start, span.end) };
}

function spanScores(answers: readonly RuledAnswer[]): Pick<EntityScores, 'f1' | 'types'> {
  const total: SpanCounts = { correct: 0, support: 0, predicted: 0 };
  const byType = new Map<string, SpanCounts>();
  for (const { found, actual } of answers) countSpans(found, actual, total, byType);
  return { f1: figures(total).f1, types: new Map([...byType].map(([type, counts]) => [type, figures(counts)])) };
}

interface Answer {
  readonly words: readonly string[];
  /** An entity's text. */
  nameOf(span: EntitySpan): string;
  /** The true entities, with the scores that the model gives them. */
  readonly actual: readonly FoundEntity[];
  readonly found: readonly FoundEntity[];
  /** What both experts found before they were weighted. */
  readonly foundBefore: readonly FoundEntity[];
}

/** The figures of every type, including those without an entity in dev. */
function classFigures(entityTypes: readonly string[], scores: EntityScores['types']): ClassFigures[] {
  return entityTypes.map((label) => {
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
function mistakeOf({ words, actual, found, nameOf }: Omit<Answer, 'foundBefore'>): Mistake[] {
  const wrong = found.filter((entity) => !holds(actual, entity));
  const missed = actual.filter((entity) => !holds(found, entity));
  if (wrong.length === 0 && missed.length === 0) return [];
  const confidences = wrong.length > 0 ? wrong.map(({ score }) => score) : missed.map(({ score }) => 1 - score);
  const named = (entities: readonly EntitySpan[]) => entities.map((entity) => `${nameOf(entity)} (${entity.type})`);
  const score = Math.max(...confidences);
  return [{ text: sentenceText(words), expected: named(actual), predicted: named(found), score }];
}
