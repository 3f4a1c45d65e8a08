import { checkRows, counted, type EntityRange, type EntityRow, quoted, someOf } from '../../datasets/index.js';
import type { Answer } from '../answers.js';

/** What a teacher says, checked. */

/** What answers have to fit. */
export interface AnswerRules {
  readonly kind: Answer['kind'];
  readonly isMultilabel: boolean;
  /** Labels, or entity types. Undefined if any is allowed. */
  readonly labels: ReadonlySet<string> | undefined;
}

/** An answer that makes sense. */
export type Taught =
  | { readonly kind: 'labels'; readonly shares: Readonly<Record<string, number>> }
  | EntityAnswer
  /** Of each candidate. */
  | { readonly kind: 'passages'; readonly scores: readonly number[] };

interface EntityAnswer extends Omit<EntityRow, 'text'> {
  readonly kind: 'entities';
}

type Checked = Taught | { readonly problem: string };

/** How far from 1 the sum of probabilities may be: language models round them. */
const SUM_TOLERANCE = 0.02;

/** @param candidates of a question */
export function checkedAnswer(
  answer: unknown,
  text: string,
  rules: AnswerRules,
  candidates: readonly string[] = [],
): Checked {
  if (answer === null || answer === undefined) return { problem: 'no answer' };
  switch (rules.kind) {
    case 'labels':
      return labelsOf(answer, rules);
    case 'entities':
      return entitiesOf(answer, text, rules);
    case 'passages':
      return scoresOf(answer, candidates);
  }
}

function labelsOf(answer: unknown, { isMultilabel, labels }: AnswerRules): Checked {
  const unknown = (found: readonly string[]) => {
    const stranger = labels && found.find((label) => !labels.has(label));
    if (labels && stranger !== undefined) return `found the label ${quoted(stranger)}; ${onlyLabels(labels)}`;
    return found.some((label) => label.trim() === '') ? 'found a blank label' : undefined;
  };
  if (typeof answer === 'string' || isListOf(answer, isString)) {
    const found = typeof answer === 'string' ? [answer] : answer;
    const problem = unknown(found);
    if (problem !== undefined) return { problem };
    if (!isMultilabel && found.length !== 1)
      return { problem: `found ${counted(found.length, 'label')} instead of one` };
    return { kind: 'labels', shares: Object.fromEntries(found.map((label) => [label, 1])) };
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    return { problem: `found ${quoted(answer)} instead of a label or the probability of each` };
  }
  const shares = Object.entries(answer);
  const problem = unknown(shares.map(([label]) => label));
  if (problem !== undefined) return { problem };
  const odd = shares.find(([, share]) => !(typeof share === 'number' && share >= 0 && share <= 1));
  if (odd) return { problem: `the probability of ${quoted(odd[0])} is ${quoted(odd[1])}, not a number from 0 to 1` };
  if (isMultilabel)
    return { kind: 'labels', shares: Object.fromEntries(shares.map(([label, share]) => [label, Number(share)])) };
  const sum = shares.reduce((total, [, share]) => total + Number(share), 0);
  if (Math.abs(sum - 1) > SUM_TOLERANCE)
    return { problem: `the probabilities add up to ${Number(sum.toFixed(4))}, not to 1` };
  return { kind: 'labels', shares: Object.fromEntries(shares.map(([label, share]) => [label, Number(share) / sum])) };
}

function onlyLabels(labels: ReadonlySet<string>): string {
  return `the labels are ${someOf([...labels].map(quoted))}`;
}

function entitiesOf(answer: unknown, text: string, rules: AnswerRules): Checked {
  if (typeof answer !== 'object' || answer === null || !('entities' in answer)) return listed(answer, text, rules);
  const found = listed(answer.entities, text, rules);
  if ('problem' in found || !('doubts' in answer) || answer.doubts === undefined) return found;
  const { checked, issues } = checkRows('entities', [{ text, entities: [], doubts: answer.doubts }]);
  const [issue] = issues;
  if (issue !== undefined) return { problem: `${issue.path.join('.')}: ${issue.message}` };
  const doubts = checked.shape === 'entities' ? checked.rows.flatMap((row) => row.doubts ?? []) : [];
  const { labels } = rules;
  const types = doubts.flatMap(({ tags }) => Object.keys(tags).flatMap((tag) => (tag === 'O' ? [] : [tag.slice(2)])));
  const stranger = labels && types.find((type) => !labels.has(type));
  if (labels && stranger !== undefined)
    return { problem: `doubts: found the type ${quoted(stranger)}; ${onlyLabels(labels)}` };
  return { ...found, doubts };
}

function listed(answer: unknown, text: string, { labels }: AnswerRules): EntityAnswer | { readonly problem: string } {
  if (!Array.isArray(answer)) return { problem: `found ${quoted(answer)} instead of an array of entities` };
  const entities: EntityRange[] = [];
  let from = 0;
  const given: readonly unknown[] = answer;
  for (const each of given) {
    const found = entityOf(each, text, from);
    if ('problem' in found) return found;
    const { start, end, type } = found;
    if (labels && !labels.has(type)) return { problem: `found the type ${quoted(type)}; ${onlyLabels(labels)}` };
    const other = entities.find((earlier) => earlier.start < end && start < earlier.end);
    if (other)
      return { problem: `${quoted(text.slice(start, end))} overlaps ${quoted(text.slice(other.start, other.end))}` };
    entities.push(found);
    from = end;
  }
  return { kind: 'entities', entities: entities.sort((a, b) => a.start - b.start) };
}

/** @param from where words without a place are looked for first: after the entity before */
function entityOf(entity: unknown, text: string, from: number): EntityRange | { readonly problem: string } {
  if (typeof entity !== 'object' || entity === null) return { problem: `found ${quoted(entity)} instead of an entity` };
  const given: Readonly<Record<string, unknown>> = { ...entity };
  const { type, start, end, text: words } = given;
  if (!isString(type) || type.trim() === '')
    return { problem: `the type of an entity is ${quoted(type)}, not a string with text` };
  if (start === undefined && end === undefined) {
    if (!isString(words) || words.trim() === '')
      return { problem: `an entity of type ${quoted(type)} has neither text nor start and end` };
    const next = text.indexOf(words, from);
    const at = next < 0 ? text.indexOf(words) : next;
    if (at < 0) return { problem: `${quoted(words)} is not in the text` };
    return { start: at, end: at + words.length, type };
  }
  if (!isWhole(start) || !isWhole(end) || start < 0 || end <= start || end > text.length) {
    return {
      problem: `${quoted(start)} to ${quoted(end)} is not a range in a text of ${text.length} UTF-16 code units`,
    };
  }
  const found = text.slice(start, end);
  if (words !== undefined && words !== found)
    return { problem: `${start} to ${end} is ${quoted(found)}, not ${quoted(words)}` };
  return { start, end, type };
}

function scoresOf(answer: unknown, candidates: readonly string[]): Checked {
  if (!Array.isArray(answer)) return { problem: `found ${quoted(answer)} instead of scores` };
  if (isListOf(answer, isNumber)) {
    if (answer.length === candidates.length) return { kind: 'passages', scores: answer };
    return { problem: `found ${counted(answer.length, 'score')} for ${counted(candidates.length, 'candidate')}` };
  }
  const scores = new Map<string, number>();
  const scored: readonly unknown[] = answer;
  for (const each of scored) {
    const given: Readonly<Record<string, unknown>> = typeof each === 'object' ? { ...each } : {};
    const { passage, score } = given;
    if (!isNumber(score)) return { problem: `a score is ${quoted(score ?? each)}, not a finite number` };
    if (!isString(passage) || !candidates.includes(passage))
      return { problem: `${quoted(passage)} is not one of the candidates` };
    scores.set(passage, score);
  }
  if (scores.size === 0) return { problem: 'no passage has a score' };
  const least = Math.min(...scores.values());
  return { kind: 'passages', scores: candidates.map((passage) => scores.get(passage) ?? least) };
}

const isString = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isWhole = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value);

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is Item[] {
  return Array.isArray(value) && value.every(isItem);
}
