import { expect, it } from 'vitest';
import { MeasuredTexts } from '../../models/recipes/backbones/corpus/measured-texts.js';
import { Student } from '../../models/recipes/backbones/student/student.js';
import { supervisedCard } from '../../models/recipes/backbones/supervised/export-supervised.js';
import { readLabelledSets } from '../../models/recipes/backbones/supervised/labelled-set.js';
import { supervised } from '../../models/recipes/backbones/supervised/supervised.js';
import {
  supervisedFeeds,
  supervisedHead,
} from '../../models/recipes/backbones/supervised/supervised-head.js';
import { Graph, onnxExecutor } from '../../src/graph/index.js';
import { loadTokenizer, trainWordPiece } from '../../src/tokenizer/index.js';
import { gradientError, someNumbers } from '../support/finite-differences.js';
import { tinyBert } from '../support/tiny-bert.js';

const reading = {
  datasets: '',
  measured: new MeasuredTexts([]),
  shuffle: <Row>(rows: readonly Row[]) => [...rows],
};

/** Two texts of a set with labels 0 and 1, one of a set with labels 2, 3 and 4. */
const texts = [
  { first: 0, end: 2, label: 1 },
  { first: 2, end: 5, label: 2 },
  { first: 0, end: 2, label: 0 },
];
const LABELS = 5;
const logits = someNumbers(texts.length * LABELS, 2, 3);

it('is the cross-entropy over the labels of each text’s own set', async () => {
  const graph = new Graph();
  graph.output('loss', supervisedHead(LABELS).loss(graph, graph.parameter('logits', [texts.length, LABELS])));
  const compiled = await onnxExecutor().compile(graph);
  const loss = new Float32Array(1);
  await compiled.run(
    {
      ...supervisedFeeds(texts, LABELS),
      logits: { type: 'float32', dims: [texts.length, LABELS], data: logits },
    },
    { loss: { type: 'float32', dims: [], data: loss } },
  );
  await compiled.release();
  const surprises = texts.map(({ first, end, label }, row) => {
    const own = logits.subarray(row * LABELS + first, row * LABELS + end);
    const sum = own.reduce((total, logit) => total + Math.exp(logit), 0);
    return Math.log(sum) - (logits[row * LABELS + label] ?? Number.NaN);
  });
  expect(loss[0]).toBeCloseTo(surprises.reduce((total, each) => total + each, 0) / texts.length, 5);
});

it('has the gradients that finite differences have', async () => {
  const error = await gradientError({
    parameters: new Map([['logits', { dims: [texts.length, LABELS], values: logits }]]),
    feeds: supervisedFeeds(texts, LABELS),
    loss: (graph) => supervisedHead(LABELS).loss(graph, graph.parameter('logits', [texts.length, LABELS])),
  });
  expect(error).toBeLessThan(1e-3);
});

it('reads no text of which a sentence is measured on, and none with several labels', async () => {
  const told = 'The harbour was full of small red boats.';
  const read = await readLabelledSets(
    [
      {
        name: 'moods',
        read: () => [
          { text: 'What a day.', labels: ['good'] },
          { text: `It rained. ${told.toUpperCase()}`, labels: ['bad'] },
          { text: 'Rain again.', labels: ['bad'] },
          { text: 'So and so.', labels: ['bad', 'good'] },
        ],
      },
      {
        name: 'colours',
        maxRows: 1,
        read: () => [
          { text: 'Red.', labels: ['r'] },
          { text: 'Blue.', labels: ['b'] },
        ],
      },
    ],
    { ...reading, measured: new MeasuredTexts([`We came at noon. ${told}`]) },
  );
  expect(read.labelCounts).toEqual([2, 1]);
  expect(read.rows).toEqual([
    { text: 'What a day.', set: 0, label: 1 },
    { text: 'Rain again.', set: 0, label: 0 },
    { text: 'Red.', set: 1, label: 0 },
  ]);
});

it('learns two sets at once', async () => {
  const words = ['sun', 'rain', 'one', 'two', 'three'];
  const rows = Array.from({ length: 40 }, (_, at) => {
    const word = at % words.length;
    return { text: words[word] ?? '', set: word < 2 ? 0 : 1, label: word < 2 ? word : word - 2 };
  });
  const vocabulary = trainWordPiece(words, {
    vocabularySize: tinyBert.vocab_size,
    lowercase: true,
    language: 'english',
  });
  const tokenizer = loadTokenizer(vocabulary)._unsafeUnwrap();
  const config = { ...tinyBert, vocab_size: tokenizer.vocabularySize };
  const objective = supervised({
    config,
    tokenizer,
    labelled: { rows, labelCounts: [2, 3] },
    validationRows: 10,
    batchSize: 4,
    seed: 7,
  });
  const student = await Student.create({
    executor: onnxExecutor(),
    threads: 1,
    config,
    objective,
    batchSize: 4,
    seed: 7,
  });
  const before = await student.validate();
  for (let step = 0; step < 150; step += 1) await student.step(0.01);
  const after = await student.validate();
  await student.release();
  expect(before.labels).toBeGreaterThan(0.6);
  expect(after.labels).toBeLessThan(0.2);
});

it('says on the card which labels were learned, once', () => {
  const card = 'It has read texts, never their labels.\n\n## What it has read\n\nmuch';
  const told = supervisedCard(card, '## Labels\n\nOf moods.\n');
  expect(told).toBe(
    'It has read texts, and no labels but those said above.\n\n## Labels\n\nOf moods.\n\n## What it has read\n\nmuch',
  );
  expect(() => supervisedCard(told, '## Labels')).toThrow('has it learned labels before?');
});
