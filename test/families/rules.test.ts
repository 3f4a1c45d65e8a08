import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ModelFolderError, ValidationError } from '../../src/contract/index.js';
import { outsideOf, RuleSet, ruledEntities, ruledScores } from '../../src/families/rules.js';
import { type Rule, requireFittingRules } from '../../src/models/index.js';
import { runToEnd } from '../../src/system/index.js';
import { withTimeLimit } from '../../src/text/index.js';

/** What rules make of answers, against references that are written for shortness. */

const setOf = (rules: readonly Rule[], file?: string) => runToEnd(RuleSet.build(rules, withTimeLimit, file));
const entitiesIn = (rules: readonly Rule[], text: string) => {
  const set = setOf(rules);
  return ruledEntities(set, set.matches(text), text.length).map(({ rule, start, end }) => [
    rule,
    text.slice(start, end),
  ]);
};

interface Span {
  readonly start: number;
  readonly end: number;
}
const overlap = (a: Span, b: Span) => a.start < b.end && b.start < a.end;
const term = fc
  .string({ unit: fc.constantFrom('a', 'b', ' ', '東', '🎉'), minLength: 1, maxLength: 4 })
  .filter((each) => each.trim() !== '');
const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '東', '🎉'), maxLength: 20 });
const entityRules = fc.array(
  fc.oneof(
    fc.record({ type: fc.constantFrom('X', 'Y'), terms: fc.array(term, { minLength: 1, maxLength: 3 }) }),
    fc.record({ type: fc.constant('Z'), pattern: fc.constantFrom('a+', 'b.', '🎉', 'ab?', '東+') }),
  ),
  { minLength: 1, maxLength: 4 },
);

describe('entities of rules', () => {
  it('keep the match of the earlier rule, then the longer, then the left one', () => {
    fc.assert(
      fc.property(entityRules, text, (rules, given) => {
        const set = setOf(rules);
        const matches = set.matches(given);
        let left = [...matches];
        const kept: typeof left = [];
        while (left.length > 0) {
          const least = Math.min(...left.map(({ rule }) => rule));
          const ofRule = left.filter(({ rule }) => rule === least);
          const most = Math.max(...ofRule.map(({ start, end }) => end - start));
          const best = ofRule.filter(({ start, end }) => end - start === most).sort((a, b) => a.start - b.start)[0];
          if (best === undefined) break;
          kept.push(best);
          left = left.filter((each) => !overlap(each, best));
        }
        const expected = kept.sort((a, b) => a.start - b.start).map(({ rule, start, end }) => [rule, start, end]);
        expect(ruledEntities(set, matches, given.length).map(({ rule, start, end }) => [rule, start, end])).toEqual(
          expected,
        );
      }),
    );
  });

  it('take the place of every entity of the model that they overlap', () => {
    const spans = fc
      .array(fc.record({ start: fc.nat(30), length: fc.integer({ min: 1, max: 6 }) }))
      .map((all) => all.map(({ start, length }) => ({ start, end: start + length })).sort((a, b) => a.start - b.start))
      .map((all) => all.filter((each, at) => all.slice(0, at).every((earlier) => !overlap(earlier, each))));
    fc.assert(
      fc.property(spans, spans, (own, ruled) => {
        expect(outsideOf(own, ruled)).toEqual(own.filter((each) => !ruled.some((other) => overlap(each, other))));
      }),
    );
  });

  it('are the longest within a rule, and those of the earlier rule across rules', () => {
    const cities: Rule = { type: 'CITY', terms: ['New York', 'New York City', 'York'] };
    const codes: Rule = { type: 'CODE', pattern: '[A-Z]-\\d+' };
    expect(entitiesIn([cities], 'New York City and York')).toEqual([
      [0, 'New York City'],
      [0, 'York'],
    ]);
    expect(entitiesIn([{ type: 'T', terms: ['York City'] }, cities], 'New York City')).toEqual([[0, 'York City']]);
    expect(entitiesIn([cities, codes], 'A-12 in York, B-7')).toEqual([
      [1, 'A-12'],
      [0, 'York'],
      [1, 'B-7'],
    ]);
  });
});

const labels = ['a', 'b', 'c'];
const labelRules = fc.array(
  fc.record({
    by: fc.constantFrom<'label' | 'not'>('label', 'not'),
    label: fc.constantFrom(...labels),
    matches: fc.boolean(),
  }),
  { maxLength: 5 },
);
const shares = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 3, maxLength: 3 }).map((each) => {
  const sum = each.reduce((total, share) => total + share, 0);
  return each.map((share) => (sum === 0 ? 1 / 3 : share / sum));
});
const ruleFor = ({ by, label, matches }: { by: 'label' | 'not'; label: string; matches: boolean }): Rule => {
  const terms = [matches ? 'yes' : 'no'];
  return by === 'label' ? { label, terms } : { not: label, terms };
};

describe('scores of labels', () => {
  it('of one label: the first rule that answers, unless vetoed before; else vetoes and the proportions of the rest', () => {
    fc.assert(
      fc.property(labelRules, shares, (given, scores) => {
        const set = setOf(given.length === 0 ? [{ label: 'a', terms: ['no'] }] : given.map(ruleFor));
        const vetoed = new Set<string>();
        let answer: string | undefined;
        for (const { by, label, matches } of given) {
          if (!matches || answer !== undefined || vetoed.has(label)) continue;
          if (by === 'label') answer = label;
          else if (vetoed.size < labels.length - 1) vetoed.add(label);
        }
        const rest = labels.filter((label) => !vetoed.has(label));
        const total = rest.reduce((sum, label) => sum + (scores[labels.indexOf(label)] ?? 0), 0);
        const expected = labels.map((label, at) => {
          if (answer !== undefined) return label === answer ? 1 : 0;
          if (vetoed.has(label)) return 0;
          return total > 0 ? (scores[at] ?? 0) / total : 1 / rest.length;
        });
        const { scores: ruled } = ruledScores(set, set.matches('yes'), labels, scores, false);
        for (const [at, score] of expected.entries()) expect(ruled[at]).toBeCloseTo(score, 12);
        expect(ruled.reduce((sum, score) => sum + score, 0)).toBeCloseTo(1, 12);
      }),
    );
  });

  it('of several labels: the first rule about each decides it, and the others stay', () => {
    fc.assert(
      fc.property(labelRules, shares, (given, scores) => {
        const set = setOf(given.length === 0 ? [{ label: 'a', terms: ['no'] }] : given.map(ruleFor));
        const { scores: ruled, by } = ruledScores(set, set.matches('yes'), labels, scores, true);
        for (const [at, label] of labels.entries()) {
          const first = given.findIndex((rule) => rule.matches && rule.label === label);
          expect(by[at]?.rule).toBe(first === -1 ? undefined : first);
          expect(ruled[at]).toBe(first === -1 ? scores[at] : given[first]?.by === 'label' ? 1 : 0);
        }
      }),
    );
  });
});

describe('rules that are refused', () => {
  it('those of another kind of model, and unknown labels, by their names', () => {
    const of = (rule: Rule, view: 'labels' | 'entities' | 'passages') => () =>
      requireFittingRules([rule], view, { labels: ['spam', 'ham'] });
    expect(() =>
      requireFittingRules([{ label: 'spam', terms: ['a'] }], 'labels', { labels: ['spam', 'ham'], parts: 'pair' }),
    ).toThrow('rules: rules work only on single texts, but this model reads pairs of texts; leave `rules` out');
    expect(of({ name: 'ids', type: 'X', terms: ['a'] }, 'labels')).toThrow(
      'rules.0.type: rule "ids" (X): rules with a type apply only to models that find entities',
    );
    expect(of({ not: 'spam', terms: ['a'] }, 'entities')).toThrow(
      'rules.0.not: rule 0 (not spam): rules with not apply only to classifiers',
    );
    expect(of({ label: 'spam', terms: ['a'] }, 'passages')).toThrow(ValidationError);
    expect(of({ label: 'Spam', terms: ['a'] }, 'labels')).toThrow('the model has no label "Spam"; it has spam, ham');
  });

  it('patterns that run too long or match nothing, when they meet such a text', () => {
    const rules: readonly Rule[] = [
      { type: 'X', pattern: 'b' },
      { name: 'slow', type: 'Y', pattern: '(a+)+c' },
    ];
    const message = /rule "slow" \(Y\): the pattern takes too long for a text of 40 characters/;
    expect(() => setOf(rules).matches('a'.repeat(40))).toThrow(message);
    expect(() => setOf(rules, 'rules.json').matches('a'.repeat(40))).toThrow(ModelFolderError);
    expect(() => setOf([{ type: 'X', pattern: '(?=b)' }]).matches('abc')).toThrow(
      /rule 0 \(X\): the pattern matches the empty text/,
    );
  });
});
