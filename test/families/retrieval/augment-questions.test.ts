import { describe, expect, it } from 'vitest';
import { augmentQuestions } from '../../../src/families/retrieval/training.js';

const CITIES = ['paris', 'rome', 'oslo', 'bern', 'wien', 'riga', 'kyiv', 'lima', 'cairo', 'quito'];
const QUESTIONS = CITIES.map((city, passage) => ({
  question: `in what country does ${city} lie today`,
  passage,
}));

describe('augmentQuestions', () => {
  it('gives an edited copy of each with the same passage', () => {
    const copies = augmentQuestions(QUESTIONS, 1);
    expect(copies.length).toBeGreaterThan(5);
    for (const { question, passage } of copies) {
      expect(question).not.toBe(QUESTIONS[passage]?.question);
      const words = new Set(QUESTIONS[passage]?.question.split(' '));
      expect(question.split(' ').filter((word) => !words.has(word))).toEqual([]);
    }
  });

  it('never drops the word that says what is asked', () => {
    for (let seed = 0; seed < 50; seed += 1) {
      for (const { question, passage } of augmentQuestions(QUESTIONS, seed)) {
        expect(question).toContain(CITIES[passage]);
      }
    }
  });

  it('drops common words and swaps neighbours', () => {
    const lengths = Array.from({ length: 20 }, (_, seed) => augmentQuestions(QUESTIONS, seed))
      .flat()
      .map(({ question }) => question.split(' ').length);
    expect(new Set(lengths)).toEqual(new Set([6, 7]));
  });

  it('leaves short questions alone', () => {
    expect(augmentQuestions([{ question: 'where is rome', passage: 0 }], 1)).toEqual([]);
  });

  it('makes the same edits for the same seed', () => {
    expect(augmentQuestions(QUESTIONS, 3)).toEqual(augmentQuestions(QUESTIONS, 3));
    expect(augmentQuestions(QUESTIONS, 3)).not.toEqual(augmentQuestions(QUESTIONS, 4));
  });
});
