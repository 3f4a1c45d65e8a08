import { describe, expect, it } from 'vitest';
import { counterExamples } from '../../../models/recipes/catalogue/datasets/counter-examples.js';
import { denials } from '../../../models/recipes/catalogue/datasets/denials.js';
import { disguisedWords } from '../../../models/recipes/catalogue/datasets/disguised-words.js';
import { sentimentKinds } from '../../../models/recipes/catalogue/kinds/sentiment.js';
import { toxicityKinds } from '../../../models/recipes/catalogue/kinds/toxicity.js';
import { foldText } from '../../../models/recipes/catalogue/leaks.js';
import type { LabelledText } from '../../../models/recipes/catalogue/recipe.js';

/** Rows written for the models of toxicity and sentiment, and what these are measured on. */

const rows = counterExamples();
const textsOf = (label: string) => rows.filter(({ labels }) => labels[0] === label).map(({ text }) => text);
const measured = toxicityKinds.flatMap(({ texts }) => texts);

/** All runs of five words. */
function phrases(text: string): string[] {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  return words.slice(4).map((_, at) => words.slice(at, at + 5).join(' '));
}

const wordsOf = (text: string) =>
  new Set(
    text
      .toLowerCase()
      .replaceAll('’', "'")
      .match(/[\p{L}']+/gu) ?? [],
  );

/**
 * Log-odds of each word that stands in at least so many rows: positive where it speaks for a toxic row, the most
 * one-sided first.
 */
function logOdds(least: number): { word: string; odds: number }[] {
  const sides = ['toxic', 'non-toxic'].map((label) => {
    const texts = textsOf(label);
    const counts = new Map<string, number>();
    for (const word of texts.flatMap((text) => [...wordsOf(text)])) counts.set(word, (counts.get(word) ?? 0) + 1);
    const logit = (word: string) => {
      const count = counts.get(word) ?? 0;
      return Math.log((count + 0.5) / (texts.length - count + 0.5));
    };
    return { counts, logit };
  });
  const total = (word: string) => sides.reduce((sum, { counts }) => sum + (counts.get(word) ?? 0), 0);
  return [...new Set(sides.flatMap(({ counts }) => [...counts.keys()]))]
    .filter((word) => total(word) >= least)
    .map((word) => ({ word, odds: sides.reduce((odds, { logit }, at) => odds + (at === 0 ? 1 : -1) * logit(word), 0) }))
    .sort((one, other) => Math.abs(other.odds) - Math.abs(one.odds));
}

describe('counter-examples', () => {
  it('are as often toxic as harmless, whatever group, thing or fault they name', () => {
    expect(textsOf('toxic')).toHaveLength(textsOf('non-toxic').length);
    for (const word of ['Muslim', 'disabled', 'a brick', 'donkey', 'useless', 'your family']) {
      const counts = ['toxic', 'non-toxic'].map((label) => textsOf(label).filter((text) => text.includes(word)).length);
      expect(Math.min(...counts) / Math.max(...counts)).toBeGreaterThan(0.5);
    }
  });

  it('are all different, have no slot left, and are alike long on both sides', () => {
    expect(new Set(rows.map(({ text }) => foldText(text))).size).toBe(rows.length);
    for (const { text } of rows) expect(text).not.toMatch(/[{}|]/u);
    const [toxic = 0, harmless = 0] = ['toxic', 'non-toxic'].map((label) => {
      const texts = textsOf(label);
      return texts.reduce((sum, text) => sum + text.split(' ').length, 0) / texts.length;
    });
    expect(toxic / harmless).toBeGreaterThan(0.9);
    expect(toxic / harmless).toBeLessThan(1.1);
  });

  it('have no word that is a label by itself', () => {
    const [often, seldom] = [logOdds(rows.length / 20), logOdds(20)];
    expect(often.filter(({ odds }) => Math.abs(odds) > 0.4)).toEqual([]);
    expect(seldom.filter(({ odds }) => Math.abs(odds) > 2.5)).toEqual([]);
    const neutral =
      /^(?:you|your|ur?|i|my|he|she|they|gay|queer|trans|muslims?|jewish|black|white|deaf|disabled|women)$/u;
    const named = seldom.filter(({ word }) => neutral.test(word));
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter(({ odds }) => Math.abs(odds) > 0.4)).toEqual([]);
  });

  it('have no text and no phrase that the model is measured on, and not all of the groups', () => {
    const folded = new Set(rows.map(({ text }) => foldText(text)));
    expect(measured.filter((text) => folded.has(foldText(text)))).toEqual([]);
    const learned = new Set(rows.flatMap(({ text }) => phrases(text)));
    expect(measured.flatMap(phrases).filter((phrase) => learned.has(phrase))).toEqual([]);
    for (const group of ['lesbian', 'Mexican', 'blind', 'immigrant']) {
      expect(measured.some((text) => text.includes(group))).toBe(true);
      expect(rows.some(({ text }) => text.includes(group))).toBe(false);
    }
  });

  it('are the same every time', () => {
    expect(counterExamples()).toEqual(rows);
  });
});

describe('denials', () => {
  const sentences = denials();
  const count = (word: string, label: string) =>
    sentences.filter(({ text, labels }) => labels[0] === label && text.includes(word)).length;

  it('have words of praise and of blame on both sides alike often', () => {
    expect(sentences.filter(({ labels }) => labels[0] === 'positive')).toHaveLength(sentences.length / 2);
    for (const word of [' funny', ' useful', ' slow', ' rude']) {
      const counts = [count(word, 'positive'), count(word, 'negative')];
      expect(Math.min(...counts) / Math.max(...counts)).toBeGreaterThan(0.5);
    }
  });

  it('turn a word round exactly where they deny it', () => {
    const labelOf = (text: RegExp) =>
      new Set(sentences.filter((row) => text.test(row.text)).map(({ labels }) => labels[0]));
    expect(labelOf(/^\S+ \S+ is boring\.$/u)).toEqual(new Set(['negative']));
    expect(labelOf(/ isn’t boring\.$/u)).toEqual(new Set(['positive']));
    expect(labelOf(/ isn’t great\.$/u)).toEqual(new Set(['negative']));
    expect(labelOf(/but I find it clever/u)).toEqual(new Set(['positive']));
    for (const { text } of sentences) expect(text).not.toMatch(/[<>{}()[\]]/u);
  });

  it('share no text and no phrase with what is measured on', () => {
    const learned = new Set(sentences.flatMap(({ text }) => phrases(text)));
    const asked = sentimentKinds.flatMap(({ texts }) => texts);
    expect(asked.flatMap(phrases).filter((phrase) => learned.has(phrase))).toEqual([]);
  });
});

describe('words in disguise', () => {
  const row = (text: string, label: string): LabelledText => ({ text, labels: [label] });
  const given = [
    row('You idiot, shut up', 'toxic'),
    row('nothing to hide', 'toxic'),
    row('What a lovely little garden', 'non-toxic'),
    row('no no no', 'non-toxic'),
  ];

  it('are swear words in toxic rows, and one other word in the rest; rows without such words are left out', () => {
    const [toxic, harmless, ...others] = disguisedWords(given);
    expect(others).toEqual([]);
    expect(toxic?.labels).toEqual(['toxic']);
    expect(toxic?.text).toMatch(/^You (?:i[a-z0-9!*]{4}), shut up$/u);
    expect(toxic?.text).not.toContain('idiot');
    expect(harmless?.labels).toEqual(['non-toxic']);
    expect(harmless?.text).toMatch(/^What a l\S{5} little garden$/u);
    expect(harmless?.text).not.toContain('lovely');
  });
});
