import { type AnswerView, ModelFolderError, ValidationError } from '../contract/index.js';
import {
  checkedRules,
  EMPTY_MATCH,
  type ModelFolderConfig,
  patternOf,
  RULES_FILE,
  type Rule,
  type RuleName,
  ruleName,
  ruleTitle,
} from '../models/index.js';
import { type Steps, utf8Text } from '../system/index.js';
import { maxTextMs, TermMatcher, type TextOutputs, TimeLimitError } from '../text/index.js';
import type { ExplainedAnswer, Explainer, Explanation, MatchedRule, ModelResult } from './explanation.js';
import type { Decoder, ModelFiles } from './family.js';

/**
 * Rules next to a model (docs/rules.md). They are applied to the answer, after decoding: a rule's type need not be among the
 * model's tags, and its entity need not begin and end where the model's words do.
 */

/** Where a rule matches, in UTF-16 code units. @property rule its position in the list */
export interface RuleMatch {
  readonly rule: number;
  readonly start: number;
  readonly end: number;
}

/** Runs work that is ended after some milliseconds, where the platform can do that. @throws TimeLimitError */
export type TimeLimit = <Value>(limitMs: number, work: () => Value) => Value;

/** How a rule that can't be run is reported. @param part of the rule */
type RuleFailure = (position: number, part: 'pattern', reason: string) => Error;

/** Rules that are ready to be matched. */
export class RuleSet {
  readonly rules: readonly Rule[];
  readonly #terms: TermMatcher;
  /** The rule of each list of terms. */
  readonly #ofList: readonly number[];
  readonly #patterns: readonly { readonly rule: number; readonly pattern: RegExp }[];
  readonly #limit: TimeLimit;
  readonly #failure: RuleFailure;

  private constructor(rules: readonly Rule[], terms: TermMatcher, limit: TimeLimit, failure: RuleFailure) {
    this.rules = rules;
    this.#terms = terms;
    this.#ofList = [...rules.keys()].filter((at) => rules[at]?.terms !== undefined);
    this.#patterns = rules.flatMap((each, rule) =>
      each.pattern === undefined ? [] : [{ rule, pattern: patternOf(each) }],
    );
    this.#limit = limit;
    this.#failure = failure;
  }

  /**
   * @param limit on the time of patterns: one may try every way to match.
   * @param file that the rules are read from, named in errors. Default: they are an option.
   */
  static *build(rules: readonly Rule[], limit: TimeLimit, file?: string): Steps<RuleSet> {
    const lists = rules.flatMap((rule) => {
      if (rule.terms === undefined) return [];
      const { terms, ignoreCase = false, wholeWords = true } = rule;
      return [{ terms, ignoreCase, wholeWords }];
    });
    const failure: RuleFailure = (position, part, reason) => {
      const rule = rules[position];
      const msg = `${rule === undefined ? 'a rule' : ruleTitle(rule, position)}: ${reason}`;
      if (file !== undefined) return new ModelFolderError(file, msg);
      return new ValidationError([{ loc: ['rules', position, part], msg, type: 'unusable_rule' }]);
    };
    return new RuleSet(rules, yield* TermMatcher.build(lists), limit, failure);
  }

  /** All matches, in no order; they may overlap. @throws ValidationError or ModelFolderError for a pattern that can't be run. */
  matches(text: string): RuleMatch[] {
    const matches: RuleMatch[] = [];
    this.#terms.find(text, (list, start, end) => matches.push({ rule: this.#ofList[list] ?? 0, start, end }));
    if (this.#patterns.length > 0) this.#matchPatterns(text, matches);
    return matches;
  }

  /** All in one call, which costs as much as many patterns. */
  #matchPatterns(text: string, matches: RuleMatch[]): void {
    const limitMs = maxTextMs(text);
    let running = { rule: 0, since: performance.now() };
    let slowest = { rule: 0, ms: 0 };
    const ended = () => {
      const ms = performance.now() - running.since;
      if (ms > slowest.ms) slowest = { rule: running.rule, ms };
    };
    try {
      this.#limit(limitMs, () => {
        for (const { rule, pattern } of this.#patterns) {
          running = { rule, since: performance.now() };
          pattern.lastIndex = 0;
          for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
            if (match[0] === '') throw this.#failure(rule, 'pattern', EMPTY_MATCH);
            matches.push({ rule, start: match.index, end: match.index + match[0].length });
          }
          ended();
        }
      });
    } catch (thrown) {
      if (!(thrown instanceof TimeLimitError)) throw thrown;
      ended();
      const reason = `the pattern takes too long for a text of ${text.length} characters (the limit is ${limitMs} ms); avoid repetitions within repetitions, such as (a+)+`;
      throw this.#failure(slowest.rule, 'pattern', reason);
    }
  }

  nameOf(position: number): RuleName {
    const rule = this.rules[position];
    return rule === undefined ? position : ruleName(rule, position);
  }
}

/** How rules change a kind of answer. */
export interface RuledAnswers {
  readonly view: AnswerView;
  /** Of a classifier: whether each label is decided for itself. */
  readonly isMultilabel: boolean;
}

export function ruledAnswers(view: AnswerView, { type }: Pick<ModelFolderConfig['orchard'], 'type'>): RuledAnswers {
  return { view, isMultilabel: type === 'multilabel-text-classification' };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** An entity that a rule found. */
interface RuledEntity extends RuleMatch {
  readonly type: string;
}

/** Matches that don't overlap, left to right: of two that do, that of the earlier rule, then the longer, then the left one. */
export function ruledEntities({ rules }: RuleSet, matches: readonly RuleMatch[], textLength: number): RuledEntity[] {
  const order = matches.toSorted((a, b) => a.rule - b.rule || b.end - b.start - (a.end - a.start) || a.start - b.start);
  const taken = new Uint8Array(textLength);
  const entities: RuledEntity[] = [];
  for (const match of order) {
    const { rule: position, start, end } = match;
    const rule = rules[position];
    if (rule === undefined || !('type' in rule) || taken.subarray(start, end).includes(1)) continue;
    taken.fill(1, start, end);
    entities.push({ ...match, type: rule.type });
  }
  return entities.sort((a, b) => a.start - b.start);
}

/** The entities that no rule's overlaps. */
export function outsideOf<Entity extends Span>(entities: readonly Entity[], ruled: readonly Span[]): Entity[] {
  let next = 0;
  return entities.filter(({ start, end }) => {
    while ((ruled[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next += 1;
    return (ruled[next]?.start ?? Number.POSITIVE_INFINITY) >= end;
  });
}

/** The first match of each rule that has one, in the order of the rules. */
function firstMatches(matches: readonly RuleMatch[]): RuleMatch[] {
  const first = new Map<number, RuleMatch>();
  for (const match of matches) {
    if (match.start < (first.get(match.rule)?.start ?? Number.POSITIVE_INFINITY)) first.set(match.rule, match);
  }
  return [...first.values()].sort((a, b) => a.rule - b.rule);
}

interface RuledScores {
  /** In the order of the labels. */
  readonly scores: number[];
  /** The match that decided each label; undefined where the model did. */
  readonly by: (RuleMatch | undefined)[];
}

/**
 * Scores of labels after the rules that match. Of one label: the first rule about it decides. Of several, of which one
 * applies: the first rule with a label answers, unless an earlier one vetoes it; vetoed labels get 0, and the others keep
 * their proportions. A veto of the last label that is left has no effect.
 */
export function ruledScores(
  { rules }: RuleSet,
  matches: readonly RuleMatch[],
  labels: readonly string[],
  scores: readonly number[],
  isMultilabel: boolean,
): RuledScores {
  const by = new Array<RuleMatch | undefined>(labels.length).fill(undefined);
  const places = new Map(labels.map((label, at) => [label, at]));
  const decided = [...scores];
  let vetoes = 0;
  for (const match of firstMatches(matches)) {
    const rule = rules[match.rule];
    if (rule === undefined || 'type' in rule) continue;
    const answers = 'label' in rule;
    const at = places.get(answers ? rule.label : rule.not);
    if (at === undefined || by[at] !== undefined) continue;
    if (isMultilabel) {
      by[at] = match;
      decided[at] = answers ? 1 : 0;
    } else if (answers) {
      by[at] = match;
      return { scores: labels.map((_, label) => (label === at ? 1 : 0)), by };
    } else if (vetoes + 1 < labels.length) {
      by[at] = match;
      vetoes += 1;
    }
  }
  if (vetoes === 0) return { scores: decided, by };
  const left = scores.reduce((sum, score, at) => (by[at] === undefined ? sum + score : sum), 0);
  const shared = (score: number) => (left > 0 ? score / left : 1 / (labels.length - vetoes));
  return { scores: scores.map((score, at) => (by[at] === undefined ? shared(score) : 0)), by };
}

interface RuledResult {
  readonly result: ModelResult;
  /** The match behind each answer; undefined where the model answered. */
  readonly by: readonly (RuleMatch | undefined)[];
}

function ruledResult(rules: RuleSet, answers: RuledAnswers, text: string, result: ModelResult): RuledResult {
  const matches = rules.matches(text);
  if (matches.length === 0) return { result, by: result.labels.map(() => undefined) };
  const { result: changed, by } =
    answers.view === 'entities'
      ? withEntities(rules, matches, text, result)
      : withLabels(rules, matches, answers, result);
  if (by.every((match) => match === undefined)) return { result, by };
  const names = by.map((match) => (match === undefined ? null : rules.nameOf(match.rule)));
  return { result: { ...changed, rules: names }, by };
}

function withLabels(
  rules: RuleSet,
  matches: readonly RuleMatch[],
  { isMultilabel }: RuledAnswers,
  result: ModelResult,
): RuledResult {
  const { labels, scores, none_of_these } = result;
  const ruled = ruledScores(rules, matches, labels, scores, isMultilabel);
  const order = [...labels.keys()].sort((a, b) => (ruled.scores[b] ?? 0) - (ruled.scores[a] ?? 0));
  const by = order.map((at) => ruled.by[at]);
  const isRuled = by.some((match, at) => match !== undefined && (ruled.scores[order[at] ?? 0] ?? 0) === 1);
  return {
    result: {
      ...result,
      labels: order.map((at) => labels[at] ?? ''),
      scores: order.map((at) => ruled.scores[at] ?? 0),
      ...(none_of_these !== undefined && isRuled && { none_of_these: false }),
    },
    by,
  };
}

function withEntities(rules: RuleSet, matches: readonly RuleMatch[], text: string, result: ModelResult): RuledResult {
  const { labels, scores, tokens = [], token_start_positions: starts = [] } = result;
  const found = labels.map((type, at) => {
    const start = starts[at] ?? 0;
    return { type, start, end: start + (tokens[at]?.length ?? 0), score: scores[at] ?? 0, match: undefined };
  });
  const ruled = ruledEntities(rules, matches, text.length);
  const entities = [...outsideOf(found, ruled), ...ruled.map((match) => ({ ...match, score: 1, match }))].sort(
    (a, b) => a.start - b.start,
  );
  return {
    result: {
      ...result,
      labels: entities.map(({ type }) => type),
      scores: entities.map(({ score }) => score),
      tokens: entities.map(({ start, end }) => text.slice(start, end)),
      token_start_positions: entities.map(({ start }) => start),
    },
    by: entities.map(({ match }) => match),
  };
}

/** A decoder whose answers follow the rules. */
export function ruledDecoder(decoder: Decoder, rules: RuleSet, answers: RuledAnswers): Decoder {
  const decode = (text: string, outputs: TextOutputs) =>
    ruledResult(rules, answers, text, decoder(text, outputs)).result;
  const { inSteps, explainer, tagShares } = decoder;
  return Object.assign(decode, {
    ...(inSteps && {
      *inSteps(text: string, outputs: TextOutputs): Generator<undefined, ModelResult> {
        const result = yield* inSteps(text, outputs);
        yield;
        return ruledResult(rules, answers, text, result).result;
      },
    }),
    ...(explainer && { explainer: ruledExplainer(decoder, explainer, rules, answers) }),
    ...(tagShares && { tagShares }),
  });
}

function ruledExplainer(decoder: Decoder, explainer: Explainer, rules: RuleSet, answers: RuledAnswers): Explainer {
  return {
    ...explainer,
    *explain(text, words, outputs, leftOut, choice): Generator<undefined, Explanation> {
      if (answers.view === 'entities') {
        const plain = yield* explainer.explain(text, words, outputs, leftOut, choice);
        const { explained, ...found } = plain;
        const { result, by } = ruledResult(rules, answers, text, found);
        const own = new Map(found.token_start_positions?.map((start, at) => [start, explained[at]]));
        const entities = result.labels.flatMap((answer, position): ExplainedAnswer[] => {
          const match = by[position];
          if (match !== undefined) return [ruleAnswer(rules, text, match, { answer, score: 1, position })];
          const explanation = own.get(result.token_start_positions?.[position] ?? 0);
          return explanation === undefined ? [] : [{ ...explanation, position }];
        });
        return { ...result, explained: entities };
      }
      const { result, by } = ruledResult(rules, answers, text, decoder(text, outputs));
      yield;
      const answer = choice.label ?? result.labels[0] ?? '';
      const position = result.labels.indexOf(answer);
      const match = by[position];
      const score = result.scores[position] ?? 0;
      if (match !== undefined) {
        return { ...result, explained: [ruleAnswer(rules, text, match, { answer, score, position })] };
      }
      const { explained } = yield* explainer.explain(text, words, outputs, leftOut, { label: answer });
      return { ...result, explained: explained.map((each) => ({ ...each, score, position })) };
    },
  };
}

function ruleAnswer(
  rules: RuleSet,
  text: string,
  { rule, start, end }: RuleMatch,
  answer: Pick<ExplainedAnswer, 'answer' | 'score' | 'position'>,
): ExplainedAnswer {
  const matched: MatchedRule = { name: rules.nameOf(rule), text: text.slice(start, end), start };
  return { ...answer, words: [], rule: matched };
}

interface RulesPlace {
  /** The path of the folder's {@link RULES_FILE}, named in errors. */
  readonly file: string;
  readonly limit: TimeLimit;
}

/** The rules of a folder, ready to be matched; undefined if it has none. @throws ModelFolderError */
export function* rulesOfFolder(
  { orchard }: ModelFolderConfig,
  files: ModelFiles,
  { file, limit }: RulesPlace,
): Steps<RuleSet | undefined> {
  if (orchard.rules === undefined) return undefined;
  const content = files.get(RULES_FILE);
  if (content === undefined) throw new ModelFolderError(file, 'orchard.files does not list it, but orchard.rules does');
  return yield* RuleSet.build(checkedRules(parsed(content.bytes, file), file), limit, file);
}

function parsed(bytes: Uint8Array, file: string): unknown {
  try {
    return JSON.parse(utf8Text(bytes));
  } catch (cause) {
    throw new ModelFolderError(file, 'it is not JSON', { cause });
  }
}
