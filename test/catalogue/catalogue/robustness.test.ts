import fc from 'fast-check';
import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';
import { describe, expect, it } from 'vitest';
import { measureRobustness } from '../../../bench/catalogue/measure-robustness.js';
import { catalogueDirectory } from '../../../models/index.js';
import { combined } from '../../../models/recipes/catalogue/kinds/combined.js';
import { recipesNamed } from '../../../models/recipes/catalogue/models/index.js';
import { sentimentClassification } from '../../../models/recipes/catalogue/models/sentiment-classification.js';
import { editsOf, withEditedTests } from '../../../models/recipes/catalogue/robustness/edited-recipe.js';
import {
  editSentence,
  editText,
  randomOf,
  sentenceEdits,
  textEdits,
} from '../../../models/recipes/catalogue/robustness/edits.js';

/** Texts that aren't as neat as a model's tests, and what is measured on them. */

const [lowerCase, capitals, typos, noPunctuation, emoji, tweet] = textEdits('english');
if (!(lowerCase && capitals && typos && noPunctuation && emoji && tweet)) throw new Error('there are six');
const edited = (edit: typeof typos, text: string, row = 0) => editText(edit, text, randomOf(row));

describe('an edit', () => {
  it('writes small, large, without punctuation, or among what tweets have', () => {
    expect(edited(lowerCase, 'Not BAD!')).toBe('not bad!');
    expect(edited(capitals, 'Not bad!')).toBe('NOT BAD!');
    expect(edited(noPunctuation, '“Well”, she said: it’s fine.')).toBe('Well she said it s fine');
    expect(edited(noPunctuation, '?!')).toBe('?!');
    expect(edited(emoji, 'Fine.')).toMatch(/^Fine\. \p{Extended_Pictographic}$/u);
    expect(edited(tweet, 'Fine.')).toBe('@someone Fine. #justsaying https://t.co/x1Y2z3');
  });

  it('of the pen changes about one long word in five, by one slip between its first and its last letter', () => {
    const words = Array.from({ length: 2000 }, () => 'wonderful');
    const after = edited(typos, words.join(' ')).split(' ');
    const changed = after.filter((word) => word !== 'wonderful');
    expect(changed.length / words.length).toBeGreaterThan(0.16);
    expect(changed.length / words.length).toBeLessThan(0.22);
    for (const word of changed) {
      expect(word).toMatch(/^w\p{L}{6,8}l$/u);
      expect(distance(word, 'wonderful')).toBe(1);
    }
    expect(new Set(changed.map(({ length }) => length))).toEqual(new Set([8, 9, 10]));
    expect(edited(typos, 'it was the end, 1234 or x2y3z4')).toBe('it was the end, 1234 or x2y3z4');
  });

  it('of a row is the same every time, and another in another row', () => {
    const text = 'several rather lengthy words about nothing whatever happen here today '.repeat(4);
    expect(edited(typos, text, 3)).toBe(edited(typos, text, 3));
    expect(edited(typos, text, 3)).not.toBe(edited(typos, text, 4));
  });

  it('of a sentence leaves a word for each tag', () => {
    const words = fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(words, fc.constantFrom(...sentenceEdits), (some, edit) => {
        const tags = some.map(() => 'O');
        const sentence = editSentence(edit, { words: some, tags }, randomOf(1));
        expect(sentence.words).toHaveLength(some.length);
        expect(sentence.tags).toEqual(tags);
      }),
    );
  });
});

/** Optimal string alignment (Damerau 1964): letters that are missing, added, others, or have changed places. */
function distance(left: string, right: string): number {
  const rows = Array.from({ length: left.length + 1 }, (_, i) =>
    Array.from({ length: right.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= left.length; i += 1) {
    for (let j = 1; j <= right.length; j += 1) {
      const same = left[i - 1] === right[j - 1];
      const crossed = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const steps = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same ? 0 : 1)];
      if (crossed) steps.push(at(i - 2, j - 2) + 1);
      rows[i]?.splice(j, 1, Math.min(...steps));
    }
  }
  return at(left.length, right.length);
}

describe('an edited recipe', () => {
  it('has at most 1,000 rows of a test, the same ones for every edit', async () => {
    const rows = Array.from({ length: 1500 }, (_, at) => ({ text: `Row ${at}`, labels: ['positive'] }));
    const recipe = { ...sentimentClassification, tests: [{ title: 'Rows', read: () => rows }] };
    const read = async (edit: string | undefined) => {
      const changed = withEditedTests(recipe, edit);
      if (changed.family !== 'Papaya') throw new Error('it is a classifier');
      return (await changed.tests[0]?.read('')) ?? [];
    };
    const published = await read(undefined);
    expect(published).toHaveLength(1000);
    expect((await read('capitals')).map(({ text }) => text)).toEqual(published.map(({ text }) => text.toUpperCase()));
  });

  it('of a language without cases has no other edits than it can have', () => {
    const names = recipesNamed(['conversational-language-understanding-japanese']).flatMap(editsOf);
    expect(names).toEqual(['no punctuation', 'emoji', 'as a tweet']);
  });
});

describe('what is measured', () => {
  it('is each edit, each kind, and how sure the model is here and elsewhere', async () => {
    const row = (text: string, label: string) => ({ text, labels: [label] });
    const texts = combined(['{} is wonderful.', 'I love {}.'], ['the film', 'the book']);
    const [praise, blame] = [row('A wonderful film.', 'positive'), row('A dreadful film.', 'negative')];
    const recipe = {
      ...sentimentClassification,
      tests: [{ title: 'Two', read: () => [praise, blame] }],
      elsewhere: [{ title: 'One, mislabelled', read: () => [row('A wonderful film.', 'negative')] }],
      kinds: [
        { title: 'praise', label: 'positive', texts },
        { title: 'taken for blame', label: 'negative', texts },
      ],
    };
    await using predictor = new Predictor({
      storage: memoryStorage(),
      modelLoader: folderModels(catalogueDirectory),
    });
    const subject = { predictor, catalogue: catalogueDirectory, datasets: '' };
    const { edited, kinds, calibration } = await measureRobustness(recipe, subject);
    expect(edited.map(({ test, rows }) => [test, rows])).toEqual([['Two', 2]]);
    expect(edited[0]?.figures.map(({ edit, value }) => [edit, value]).slice(0, 3)).toEqual([
      ['as published', 1],
      ['lower case', 1],
      ['capitals', 1],
    ]);
    expect(edited[0]?.figures).toHaveLength(7);
    expect(kinds.map(({ kind, rows, value }) => [kind, rows, value])).toEqual([
      ['praise', 4, 1],
      ['taken for blame', 4, 0],
    ]);
    const [own, other] = calibration;
    expect(own?.accuracy).toBe(1);
    expect(own?.confidence).toBeGreaterThan(0.8);
    expect(own?.error).toBeCloseTo(1 - (own?.confidence ?? 0), 12);
    expect(other?.accuracy).toBe(0);
    expect(other?.error).toBeCloseTo(other?.confidence ?? 0, 12);
  });
});
