import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { orThrow, train } from '../../src/index.js';

/** `learn` of a trained model keeps what `train` was told. */

const quick = { pretrained: false, epochs: 1, threads: 1, isolation: 'inline' } as const;
const opinions = ['fine', 'good', 'great', 'lovely', 'superb', 'nice'].flatMap((word) => [
  { text: `${word} film`, label: 'praise' },
  { text: `not a ${word} film`, label: 'blame' },
]);

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-learn-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function written(name: string, rows = opinions): Promise<string> {
  const path = join(folder, name);
  const lines = rows.map(({ text, label }, at) => `number ${at},${text},${label}`);
  await writeFile(path, `text,body,label\n${lines.join('\n')}\n`);
  return path;
}

describe('learn', () => {
  it('searches the passages of a generator that `train` was given', async () => {
    function* passages() {
      yield 'Umbrellas are left at the entrance';
    }
    const rows = ['lamps', 'clocks', 'chairs', 'mirrors'].map((thing) => ({
      question: `Where are the ${thing}?`,
      passage: `The ${thing} are in aisle ${thing.length}`,
    }));
    await using first = await orThrow(train({ rows, passages: passages(), ...quick }));
    await using second = await orThrow(
      first.learn([{ question: 'Where are rugs?', passage: 'The rugs are upstairs' }]),
    );
    await using third = await orThrow(second.learn([{ question: 'Where is tea?', passage: 'Tea is downstairs' }]));
    for (const model of [first, second, third]) {
      const { passages: found } = await orThrow(model.predict('umbrellas entrance'));
      expect(found.map(({ text }) => text)).toContain('Umbrellas are left at the entrance');
    }
  });

  it('reads dev and test rows of generators again', async () => {
    function* some(count: number) {
      yield* opinions.slice(0, count);
    }
    async function* others() {
      yield* opinions.slice(0, 4);
    }
    await using first = await orThrow(train({ rows: opinions, dev: some(6), test: others(), ...quick }));
    await using second = await orThrow(first.learn([{ text: 'a splendid film', label: 'praise' }]));
    expect(second.training).toMatchObject({ train: 13, dev: 6, test: { rows: 4 } });
  });

  it('reads a test file with the columns that `train` was given, and keeps the name', async () => {
    const wrong = opinions.map(({ text, label }) => ({ text, label: label === 'praise' ? 'blame' : 'praise' }));
    const [path, test] = [await written('reviews.csv'), await written('test.csv', wrong)];
    await using first = await orThrow(train({ path, columns: { text: 'body' }, ...quick }));
    await using second = await orThrow(first.learn([{ text: 'a fine day', label: 'praise' }]));
    await using third = await orThrow(second.learn([{ text: 'a sad day', label: 'blame' }], { test }));
    expect([second.name, third.name]).toEqual(['reviews', 'reviews']);
    const texts = third.training.test?.mistakes.map(({ text }) => text) ?? [];
    expect(texts.length).toBeGreaterThan(0);
    expect(texts.filter((text) => !text.endsWith('film'))).toEqual([]);
    await using fourth = await orThrow(
      third.learn([{ text: 'a day', label: 'blame' }], { test: opinions.slice(0, 4) }),
    );
    expect(fourth.training.test).toMatchObject({ rows: 4 });
  });

  it('reads the places of entities in the unit that `train` was given', async () => {
    const inCodePoints = (pre: string, town: string) => {
      const start = [...pre].length;
      return { text: `${pre}${town} ok`, entities: [{ start, end: start + [...town].length, type: 'TOWN' }] };
    };
    const rows = ['Oslo', 'Ghent', 'Prague', 'Rome', 'Lima', 'Kyiv'].map((town) => inCodePoints('😀 😀 to ', town));
    const more = [inCodePoints('😀 ', 'Rom'), inCodePoints('😀😀😀 ab ', 'Paris')];
    const told = { offsets: 'code-points', dev: rows, ...quick } as const;
    for (const options of [told, quick]) {
      await using first = await orThrow(train({ rows, ...options }));
      await using second = await orThrow(first.learn(more));
      await using all = await orThrow(train({ rows: [...rows, ...more], ...options }));
      expect(first.training.warnings.filter(({ kind }) => kind === 'misplaced_entity')).toEqual([]);
      expect(second.training).toEqual({ ...all.training, seconds: second.training.seconds });
    }
  });
});

describe('a label that may be several', () => {
  const labels = ['a,b', 'b', 'c'].flatMap((label) => [1, 2, 3].map((at) => ({ text: `${label} ${at}`, label })));

  it('asks for lists where rows are in memory', async () => {
    const refused = (await train({ rows: labels, ...quick }))._unsafeUnwrapErr();
    expect(refused.message).toContain('`labels: ["a", "b"]`');
    expect(refused.message).not.toContain('multilabel');
  });

  it('asks for the type where rows are of a file', async () => {
    const path = join(folder, 'labels.csv');
    await writeFile(path, `text,label\n${labels.map(({ text, label }) => `"${text}","${label}"`).join('\n')}\n`);
    const refused = (await train({ path, ...quick }))._unsafeUnwrapErr();
    expect(refused.message).toContain("`type: 'multilabel-text-classification'` if a comma separates labels");
  });
});
