import { listedMistakes, type Mistake } from '../../model-folder/index.js';
import type { Steps } from '../../pauses.js';
import type { FoundEntity } from '../answers.js';
import type { EntityRange } from '../rows/index.js';
import { type BootstrapOptions, intervalsOf } from './bootstrap.js';
import { averagesOf, countClasses, figuresOfClasses, type JudgedClasses, occurs } from './class-counts.js';
import type { EntityEvaluation } from './evaluation.js';

/** A text with its entities and those that the model found. */
export interface JudgedEntities {
  readonly text: string;
  readonly actual: readonly EntityRange[];
  readonly found: readonly FoundEntity[];
}

/** The figures of a model of entities, as seqeval's `classification_report` has them: place and type must be right. */
export function* entityEvaluation(
  rows: readonly JudgedEntities[],
  bootstrap: BootstrapOptions,
): Steps<EntityEvaluation> {
  const names = [
    ...new Set(rows.flatMap(({ actual, found }) => [...actual, ...found].map(({ type }) => type))),
  ].sort();
  const ids = new Map(names.map((name, id) => [name, id]));
  const judged = rows.map((row) => judge(row, ids));
  const counts = countClasses(judged, names.length);
  const classes = figuresOfClasses(names, counts);
  const intervals = yield* intervalsOf(
    rows.length,
    ['microF1', 'macroF1', 'weightedF1'],
    (times) => resampled(judged, names, times),
    bootstrap,
  );
  return {
    kind: 'entities',
    rows: rows.length,
    ...averagesOf(counts, classes),
    classes,
    intervals,
    mistakes: listedMistakes(rows.flatMap(mistakeOf)),
  };
}

const isSame = (some: EntityRange, other: EntityRange): boolean =>
  some.type === other.type && some.start === other.start && some.end === other.end;
const holds = (ranges: readonly EntityRange[], range: EntityRange): boolean =>
  ranges.some((each) => isSame(each, range));

function judge({ actual, found }: JudgedEntities, ids: ReadonlyMap<string, number>): JudgedClasses {
  const idsOf = (ranges: readonly EntityRange[]) => ranges.map(({ type }) => ids.get(type) ?? -1);
  return {
    right: idsOf(found.filter((each) => holds(actual, each))),
    wrong: idsOf(found.filter((each) => !holds(actual, each))),
    missed: idsOf(actual.filter((each) => !holds(found, each))),
  };
}

function resampled(judged: readonly JudgedClasses[], names: readonly string[], times: Int32Array) {
  const counts = countClasses(judged, names.length, times);
  const classes = figuresOfClasses(names, counts).filter((_, at) => occurs(counts, at));
  const { micro, macro, weighted } = averagesOf(counts, classes);
  return { microF1: micro.f1, macroF1: macro.f1, weightedF1: weighted.f1 };
}

/** The score is that of the surest wrong entity; 0 where entities are only missing. */
function mistakeOf({ text, actual, found }: JudgedEntities): Mistake[] {
  const wrong = found.filter((each) => !holds(actual, each));
  const missed = actual.filter((each) => !holds(found, each));
  if (wrong.length + missed.length === 0) return [];
  const named = (ranges: readonly EntityRange[]) =>
    ranges.map(({ start, end, type }) => `${text.slice(start, end)} (${type})`);
  const score = wrong.reduce((most, each) => Math.max(most, each.score), 0);
  return [{ text, expected: named(actual), predicted: named(found), score }];
}
