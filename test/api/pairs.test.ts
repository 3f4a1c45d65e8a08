import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AutoModelForSequenceClassification, AutoTokenizer, env } from '@huggingface/transformers';
import {
  checkData,
  crossValidate,
  folderModels,
  type LabelAnswer,
  loadModel,
  memoryStorage,
  openSearch,
  Predictor,
  rerank,
  scorePairs,
  search,
  suggestTexts,
  type TrainedModel,
  train,
} from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TextModel } from '../../src/inference/text-model.js';
import { joinParts } from '../../src/text/index.js';
import { run } from '../cli/run-command.js';
import { errorOf, resultOf } from '../support/outcomes.js';

/** Classifiers of two texts. */

const food = ['apples', 'bread', 'cheese', 'soup', 'rice', 'cake', 'fish', 'salad', 'pasta', 'honey', 'milk', 'grapes'];
const tools = [
  'hammers',
  'saws',
  'drills',
  'screws',
  'nails',
  'pliers',
  'ladders',
  'axes',
  'shovels',
  'bolts',
  'rulers',
];
const frames = ['Where do you sell X?', 'I need X', 'do you have X', 'looking for X'];

/** Whether two things are in the same aisle of a shop: no word of one text says it, and both share none that does. */
function aisles(count: number, seed: number) {
  let state = seed;
  const below = (limit: number) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % limit;
  };
  const pick = (list: readonly string[]) => list[below(list.length)] ?? '';
  const rows = new Map<string, { text: string; text2: string; label: string }>();
  while (rows.size < count) {
    const [one, other] = [below(2), below(2)];
    const [a, b] = [one, other].map((kind) => pick(kind === 0 ? food : tools));
    if (a === undefined || b === undefined || a === b) continue;
    const [text, text2] = [pick(frames).replace('X', a), pick(frames).replace('X', b)];
    rows.set(text + text2, { text, text2, label: one === other ? 'same' : 'other' });
  }
  return [...rows.values()];
}

let folder: string;
let model: TrainedModel<LabelAnswer>;
const output = () => join(folder, 'model');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-pairs-'));
  env.allowRemoteModels = false;
  model = await resultOf(
    train({
      rows: aisles(240, 5),
      dev: aisles(120, 11),
      epochs: 6,
      seed: 1,
      threads: 2,
      output: output(),
      tuning: { quantize: false, tokenDropout: 0, freeze: 'embeddings' },
    }),
  );
}, 600_000);
afterAll(async () => {
  await model.close();
  await rm(folder, { recursive: true });
});

describe('a model of pairs', () => {
  it('learns what its lexical expert alone can not: how two texts relate that share no word', async () => {
    const { parts, method, accuracy } = model.training;
    expect(method).toBe('fine-tuning');
    expect(accuracy).toBeGreaterThan(0.85);
    expect(parts?.expert.accuracy).toBeLessThan(0.7);
    const evaluation = await resultOf(model.evaluate(aisles(100, 31)));
    if (evaluation.kind !== 'labels') throw new Error('no labels');
    expect(evaluation.accuracy).toBeGreaterThan(0.8);
    for (const { text2 } of evaluation.mistakes) expect(text2).not.toBe('');
  });

  it('answers a pair, an array and a stream of pairs, each by both texts', async () => {
    const pairs = [
      { text: 'I need bread', text2: 'do you have cheese' },
      { text: 'I need bread', text2: 'do you have hammers' },
    ];
    const both = await resultOf(model.predict(pairs));
    expect(both.map(({ label }) => label)).toEqual(['same', 'other']);
    const [first] = pairs;
    if (first === undefined) throw new Error('no pair');
    expect(await resultOf(model.predict(first))).toEqual(both[0]);
    const streamed: string[] = [];
    for await (const answer of model.predict(new Set(pairs))) streamed.push(answer._unsafeUnwrap().label);
    expect(streamed).toEqual(['same', 'other']);
  });

  it('refuses a single text by name, and half a pair', async () => {
    const pair = { text: 'I need bread', text2: 'do you have cheese' };
    expect((await errorOf(model.predict('I need bread'))).message).toContain('give { text, text2 }');
    expect((await errorOf(model.predict([pair, 'I need bread']))).message).toContain('texts.1: the model reads pairs');
    expect((await errorOf(model.predict({ ...pair, text2: ' ' }))).message).toContain('query.text2: the text is blank');
    const single = aisles(10, 3).map(({ text, label }) => ({ text, label }));
    expect((await errorOf(model.evaluate(single))).message).toContain('have no text2');
    expect((await errorOf(model.explain('I need bread'))).message).toContain("can't be explained");
    expect((await errorOf(suggestTexts(model, ['I need bread']))).message).toContain('pairs');
  });

  it('refuses a single text of the service, too', async () => {
    await using predictor = new Predictor({ storage: memoryStorage(), modelLoader: folderModels(folder) });
    const error = await errorOf(predictor.predictPretrained('model', '3 red apples'));
    expect(error.message).toContain('the model reads pairs of texts');
  });

  it('is refused a pair if it reads single texts', async () => {
    await using other = await resultOf(loadModel('sentiment-classification'));
    const pair = { text: 'I need bread', text2: 'do you have cheese' };
    expect((await errorOf(other.predict(pair))).message).toContain(
      'query: sentiment-classification reads single texts',
    );
    expect((await errorOf(other.predict(['fine', pair]))).message).toContain('texts.1: ');
    const error = await errorOf(other.evaluate(aisles(10, 3)));
    expect(error.message).toContain('leave text2 out');
  });

  it('is a folder whose encoder transformers.js runs on pairs, with the same numbers', async () => {
    const pairs = aisles(8, 21);
    const ours = await TextModel.load(output(), 1);
    const encoded = await ours.encode(pairs.map(({ text, text2 }) => joinParts(text, text2)));
    await ours.release();
    const tokenizer = await AutoTokenizer.from_pretrained(output());
    const theirs = await AutoModelForSequenceClassification.from_pretrained(output(), { dtype: 'fp32' });
    const inputs = tokenizer(
      pairs.map(({ text }) => text),
      { text_pair: pairs.map(({ text2 }) => text2), padding: true },
    );
    const { logits } = await theirs(inputs);
    await theirs.dispose();
    expect(Array.from(inputs.token_type_ids?.data ?? [], Number)).toContain(1);
    const expected = encoded.map(([window]) => window?.outputs[0] ?? Number.NaN);
    expect(Math.max(...expected) - Math.min(...expected)).toBeGreaterThan(0.1);
    for (const [row, each] of expected.entries()) expect(Number(logits.data[row])).toBeCloseTo(each, 4);
  });

  it('is asked on the command line: two texts, or two columns', async () => {
    const typed = await run(['predict', output(), 'I need bread', 'do you have cheese']);
    expect(typed).toMatchObject({ exitCode: 0, stderr: '' });
    expect(typed.stdout).toMatch(/^same\t0\.\d{4}\tI need bread\tdo you have cheese\n$/);
    const lines = await run(['predict', output()], { input: 'I need bread\tdo you have drills\nalone\n' });
    expect(lines.stdout).toMatch(/^other\t/);
    expect(lines.stderr).toContain('line 2: the model reads pairs of texts; give two in each line, separated by a tab');
    const file = join(folder, 'asked.csv');
    await writeFile(file, 'question,candidate,label\nI need bread,do you have cheese,same\n');
    const named = ['--text-column', 'question', '--text2-column', 'candidate'];
    const table = await run(['predict', output(), '--input', file, ...named, '--format', 'csv']);
    expect(table.stdout).toMatch(/^line,text,text2,label,score\n2,I need bread,do you have cheese,same,0\.\d+\n$/);
    const unread = await run([
      'predict',
      output(),
      'I need bread',
      'do you have cheese',
      '--text2-column',
      'candidate',
    ]);
    expect(unread).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--text2-column: the texts are in no'),
    });
    const half = await run(['predict', output(), 'I need bread']);
    expect(half.exitCode).not.toBe(0);
    expect(half.stderr).toContain('give two texts for each');
    const evaluated = await run(['evaluate', output(), file, ...named, '--resamples', '100']);
    expect(evaluated).toMatchObject({ exitCode: 0, stderr: '' });
    const single = await run(['predict', 'sentiment-classification', 'fine', '--text2-column', 'other']);
    expect(single.stderr).toContain('reads single texts; leave --text2-column out');
  });
});

describe('what is done with pairs', () => {
  it('is checked: pairs that repeat or contradict another, and labels that are probably wrong', async () => {
    const alike = food.flatMap((word, at) => [
      { text: `I want ${word}`, text2: `please sell me ${word}`, label: 'same' },
      { text: `I want ${word}`, text2: `please sell me ${tools[at % tools.length]}`, label: 'other' },
      { text: `looking for ${word}`, text2: `I need ${word}`, label: word === 'salad' ? 'other' : 'same' },
      { text: `looking for ${word}`, text2: `I need ${tools[(at + 2) % tools.length]}`, label: 'other' },
    ]);
    const repeated = { text: 'I want  Apples', text2: 'please sell me apples', label: 'same' };
    const contrary = { text: 'I want bread', text2: 'please sell me bread', label: 'other' };
    const check = await resultOf(checkData({ rows: [...alike, repeated, contrary], threads: 1 }));
    expect(check.duplicates).toMatchObject([{ text: 'I want apples', text2: 'please sell me apples' }]);
    expect(check.conflicts).toMatchObject([{ text: 'I want bread', text2: 'please sell me bread' }]);
    expect(check.labelErrors?.judged).toBe(alike.length + 1);
    const doubted = check.doubtful.slice(0, 3).map(({ text, text2 }) => [text, text2]);
    expect(doubted).toContainEqual(['looking for salad', 'I need salad']);
  });

  it('is cross-validated, each answer by both texts', async () => {
    const rows = aisles(30, 8);
    const found = await resultOf(
      crossValidate({ rows, folds: 2, epochs: 1, pretrained: false, threads: 1, resamples: 100 }),
    );
    expect(found.answers.map(({ row }) => row)).toEqual(rows.map((_, row) => row));
    for (const { text2 } of found.doubtful) expect(rows.map((row) => row.text2)).toContain(text2);
  });

  it.each([
    ['a row without text2', { rows: [...aisles(4, 1), { text: 'a', label: 'same' }] }, 'rows.4.text2: '],
    ['one text2 too many', { rows: [{ text: 'a', label: 'x' }, ...aisles(4, 1)] }, 'give all rows a text2, or none'],
    ['dev rows of single texts', { rows: aisles(8, 1), dev: [{ text: 'a', label: 'same' }] }, 'have no text2'],
    ['what labels mean', { rows: aisles(8, 1), labels: { same: 'alike', other: 'not' } }, 'give only the names'],
    ['effort', { rows: aisles(8, 1), effort: 'quick' as const }, 'effort: applies only to single texts'],
    ['a blank text2', { rows: [...aisles(8, 1), { text: 'a', text2: ' ', label: 'same' }] }, 'text2'],
  ])('has no place for %s', async (_, options, message) => {
    expect((await errorOf(train(options))).message).toContain(message);
  });
});

describe('a model of pairs orders passages', () => {
  const question = 'I need apples';
  const passages = ['looking for drills', 'do you have cheese', 'looking for saws', 'do you have honey'];
  /** The second of the labels, in the order of the alphabet. */
  const probability = async (text2: string) => {
    const { scores } = await resultOf(model.predict({ text: question, text2 }));
    return scores.find(({ label }) => label === 'same')?.score ?? Number.NaN;
  };

  it('by the probability of the second label', async () => {
    const expected = await Promise.all(passages.map(probability));
    const pairs = passages.map((text2) => [question, text2] as const);
    const scores = await resultOf(scorePairs(pairs, { model: output() }));
    for (const [at, score] of scores.entries()) expect(score).toBeCloseTo(expected[at] ?? Number.NaN, 5);
    const ranked = await resultOf(rerank(question, passages, { model: output() }));
    const order = [...passages.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
    expect(ranked.map(({ index }) => index)).toEqual(order);
  });

  it('in an index, which keeps the model', async () => {
    await using index = await resultOf(search(passages, { rerank: output() }));
    const found = await resultOf(index.search(question));
    const ranked = await resultOf(rerank(question, passages, { model: output() }));
    expect(found.map(({ index }) => index)).toEqual(ranked.map(({ index }) => index));
    const saved = join(folder, 'index');
    await resultOf(index.save(saved));
    await using opened = await resultOf(openSearch(saved));
    expect(await resultOf(opened.search(question))).toEqual(found);
  });
});
