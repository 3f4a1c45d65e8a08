import { expect, it } from 'vitest';
import { entitySegments } from '../../src/http/page/entity-segments.js';

const TEXT = '👩 Ada met Bob';
const result = {
  labels: ['PER', 'PER', 'NAME'],
  scores: [0.5, 0.75, 0.25],
  tokens: ['Bob', 'Ada', 'da met'],
  token_start_positions: [11, 3, 4],
};

it('cuts a text at its entities, whatever their order, and leaves out what overlaps an earlier one', () => {
  expect(entitySegments(TEXT, result)).toEqual([
    { text: '👩 ' },
    { text: 'Ada', label: 'PER', score: 0.75 },
    { text: ' met ' },
    { text: 'Bob', label: 'PER', score: 0.5 },
  ]);
});

it('leaves a text without entities whole', () => {
  const none = { labels: [], scores: [], tokens: [], token_start_positions: [] };
  expect(entitySegments(TEXT, none)).toEqual([{ text: TEXT }]);
  expect(entitySegments('', none)).toEqual([]);
});
