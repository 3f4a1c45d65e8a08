import { describe, expect, it } from 'vitest';
import type { Question } from '../../../src/families/retrieval/retrieval-dataset.js';
import { mineHardNegatives } from '../../../src/families/retrieval/training.js';
import { Bm25Index } from '../../../src/lexical/index.js';
import { failureOf } from '../../support/outcomes.js';

const PASSAGES = [
  'the river rhine flows through basel',
  'the river aare flows through bern',
  'THE RIVER  RHINE FLOWS THROUGH BASEL',
  'the river reuss',
  'mountains only',
];

function mine(questions: readonly Question[], count = 10) {
  const index = Bm25Index.fromPassages(PASSAGES, { stem: false });
  return mineHardNegatives(PASSAGES, questions, index, { count });
}

describe('mineHardNegatives', () => {
  it('gives what BM25 ranks high, best first, without the answer and its copies', async () => {
    expect(await mine([{ question: 'which river flows through basel?', passage: 0 }])).toEqual([[1, 3]]);
    expect(await mine([{ question: 'which river flows through basel?', passage: 1 }])).toEqual([[0, 2, 3]]);
  });

  it('gives no more than asked for, even if the answer ranks high', async () => {
    expect(await mine([{ question: 'river rhine', passage: 2 }], 1)).toEqual([[3]]);
  });

  it('leaves out what answers the same question elsewhere', async () => {
    const questions = [
      { question: 'Which river?', passage: 3 },
      { question: 'which  river?', passage: 1 },
    ];
    expect(await mine(questions)).toEqual([
      [0, 2],
      [0, 2],
    ]);
  });

  it.each([
    {
      script: 'with spaces',
      passages: [
        'Rates rise in May. The bank sends a letter to each customer before that.',
        'The bank sends a letter to each customer before that. Cards are free.',
        'Rates rise when the bank says so.',
      ],
      question: 'When do rates rise, and who sends a letter?',
    },
    {
      script: 'without spaces',
      passages: [
        '金利は五月に上がります。銀行は手紙を送ります。',
        '銀行は手紙を送ります。カードは無料です。',
        '金利は下がりません。',
      ],
      question: '金利の手紙はいつ送りますか',
    },
  ])('leaves out what overlaps with the answer, in scripts $script', async ({ passages, question }) => {
    const index = Bm25Index.fromPassages(passages, { stem: false });
    expect(await mineHardNegatives(passages, [{ question, passage: 0 }], index, { count: 2 })).toEqual([[2]]);
  });

  it('gives none if no word is shared', async () => {
    expect(await mine([{ question: 'lakes', passage: 4 }])).toEqual([[]]);
  });

  it('stops when the signal fires', async () => {
    const index = Bm25Index.fromPassages(PASSAGES, { stem: false });
    const questions = [{ question: 'river', passage: 0 }];
    const signal = AbortSignal.abort();
    await failureOf('aborted', () => mineHardNegatives(PASSAGES, questions, index, { count: 1, signal }));
  });
});
