import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResultAsync } from 'neverthrow';
import { describe, expect, it } from 'vitest';
import { exportModel, loadModel, type TrainingRow, train } from '../../src/index.js';
import { type OrchardError, openModel } from '../../src/web.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { byLabel, largestDifference } from './same-answers.js';

const catalogue = 'models/catalogue';
const texts = [
  'The film was a delight from start to finish.',
  'Angela Merkel met Tim Cook in Berlin on Monday, said Reuters.',
  '予約をキャンセルしてください',
  'What is attention in neural networks? 😀 naïve café',
];

describe.each(readdirSync(catalogue))('the model %s', (name) => {
  it('answers as in Node, within 5e-3 in probabilities, with the same labels, entities and passages', async () => {
    const web = (await openModel(`${catalogue}/${name}`))._unsafeUnwrap();
    await using node = (await loadModel(name))._unsafeUnwrap();
    expect([web.kind, web.type, web.labels]).toEqual([node.kind, node.type, node.labels]);
    const [given, expected] = [await web.predict(texts), await node.predict(texts)];
    const [ours, theirs] = [given._unsafeUnwrap().map(byLabel), expected._unsafeUnwrap().map(byLabel)];
    expect(largestDifference(ours, theirs)).toBeLessThan(5e-3);
  });
});

describe('a model for the web', () => {
  const name = 'sentiment-classification';
  const folder = join(catalogue, name);

  it('is one file, smaller than the folder, which answers the same from bytes, a Blob, a stream and an object of files', async () => {
    const path = join(temporaryDirectory(), 'sentiment.orchard');
    expect((await exportModel(folder, path, { for: 'web' }))._unsafeUnwrap()).toBe(path);
    const bytes = readFileSync(path);
    const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const files = Object.fromEntries(
      names.map(({ parentPath, name: file }) => {
        const inner = join(parentPath, file);
        return [inner.slice(folder.length + 1).replaceAll('\\', '/'), readFileSync(inner)];
      }),
    );
    expect(bytes.length).toBeLessThan(Object.values(files).reduce((sum, { length }) => sum + length, 0));
    const blob = new Blob([bytes]);
    const answers = [];
    for (const source of [path, bytes, blob, blob.stream(), files]) {
      const model = (await openModel(source))._unsafeUnwrap();
      answers.push((await model.predict('Works perfectly!'))._unsafeUnwrap());
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ kind: 'labels', label: 'positive' });
  });

  it.each<[family: string, row: (at: number) => TrainingRow, text: string]>([
    ['labels', (at) => ({ text: `${['good', 'bad'][at % 2]} thing ${at}`, label: `${at % 2}` }), 'a good thing'],
    ['entities', (at) => ({ tokens: ['Ann', 'sees', `${at}`], tags: ['B-PER', 'O', 'O'] }), 'Ann sees 3'],
    ['passages', (at) => ({ question: `What is ${at} for?`, passage: `${at} is for work.` }), 'What is 3 for?'],
  ])('answers as in Node after it was trained here (%s)', async (_, row, text) => {
    const output = join(temporaryDirectory(), 'trained');
    const rows = Array.from({ length: 40 }, (_, at) => row(at));
    await using model = (await train({ rows, output, epochs: 1 }))._unsafeUnwrap();
    const path = `${output}.orchard`;
    (await exportModel(output, path, { for: 'web' }))._unsafeUnwrap();
    const there = (await openModel(path))._unsafeUnwrap();
    const [ours, theirs] = [(await there.predict(text))._unsafeUnwrap(), (await model.predict(text))._unsafeUnwrap()];
    expect(largestDifference(byLabel(ours), byLabel(theirs))).toBeLessThan(5e-3);
  });

  it('finds passages by words and by meaning, and gives vectors of unit length', async () => {
    const model = (await openModel(folder))._unsafeUnwrap();
    const passages = ['Cats sleep all day.', 'The train to Paris leaves at nine.', 'Bread is baked in an oven.'];
    const index = (await model.search(passages))._unsafeUnwrap();
    const [found] = (await index.search('When does the train leave?', { k: 1 }))._unsafeUnwrap();
    expect(found).toMatchObject({ id: '1', index: 1, passage: passages[1] });
    const [vector = new Float32Array()] = (await model.embed(['a text']))._unsafeUnwrap();
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  });

  it('fails with errors that say what to do', async () => {
    const model = (await openModel(folder))._unsafeUnwrap();
    const failed = (result: ResultAsync<unknown, OrchardError>) =>
      result.match(
        () => undefined,
        (error) => error,
      );
    expect(await failed(model.predict(' '))).toMatchObject({ code: 'validation' });
    expect(await failed(model.explain('x', { label: 'sad' }))).toMatchObject({
      message: expect.stringContaining('positive'),
    });
    expect(await failed(model.predict('x', { signal: AbortSignal.abort() }))).toMatchObject({ code: 'aborted' });
    expect(await failed(openModel(join(folder, 'nothing')))).toMatchObject({ code: 'model_folder' });
    expect(await failed(openModel({ 'config.json': Buffer.from('{') }))).toMatchObject({ code: 'model_folder' });
    expect(await failed(exportModel(folder, join(folder, 'config.json'), { for: 'web' }))).toMatchObject({
      code: 'validation',
    });
    model.close();
    expect(await failed(model.predict('x'))).toMatchObject({ code: 'closed' });
  });
});
