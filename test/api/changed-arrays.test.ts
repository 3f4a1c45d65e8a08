import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  checkData,
  crossValidate,
  distill,
  embed,
  rerank,
  scorePairs,
  search,
  suggestTexts,
  train,
  tune,
} from 'orchard-nlp';
import { afterAll, describe, expect, it } from 'vitest';
import { rows } from '../public/sentiments.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** An application that changes an array right after a call: what counts is the array as it was. */

const base = writeCheckpoint(join(temporaryDirectory(afterAll), 'base'));
const quick = { base, epochs: 1, threads: 1, tuning: { quantize: false } };
const texts = rows.map(({ text }) => text);

/** Calls with a copy of an array, and empties the copy while the call works. */
function emptied<Item, Result>(items: readonly Item[], call: (given: Item[]) => Result): Result {
  const given = [...items];
  const result = call(given);
  given.length = 0;
  return result;
}

describe('an array that changes after the call', () => {
  it('is what it was for train, tune, crossValidate and checkData', async () => {
    const [dev, test] = [rows.slice(0, 8), rows.slice(8, 17)];
    const trained = emptied(rows, (given) =>
      emptied(dev, (givenDev) =>
        emptied(test, (givenTest) => train({ rows: given, dev: givenDev, test: givenTest, ...quick })),
      ),
    );
    await using made = await resultOf(trained);
    expect(made.training).toMatchObject({ train: rows.length, dev: 8, test: { rows: 9 } });
    await using tuned = await resultOf(emptied(rows, (given) => tune({ rows: given, dev, trials: 1, ...quick })));
    expect(tuned.training.train).toBe(rows.length);
    const validated = await resultOf(emptied(rows, (given) => crossValidate({ rows: given, folds: 2, ...quick })));
    expect(validated.evaluations).toMatchObject([{ rows: rows.length }]);
    expect((await resultOf(emptied(rows, (given) => checkData({ rows: given })))).rows).toBe(rows.length);
  });

  it('is what it was for distill', async () => {
    const teacher = (some: readonly string[]) => some.map((text) => (text.length > 20 ? 'long' : 'short'));
    const options = { labels: ['long', 'short'], answers: join(temporaryDirectory(), 'answers.jsonl'), ...quick };
    await using made = await resultOf(emptied(texts, (given) => distill({ teacher, texts: given, ...options })));
    expect(made.distillation).toMatchObject({ texts: texts.length, answered: texts.length });
  });

  it('is what it was for embed, scorePairs and rerank', async () => {
    expect(await resultOf(emptied(texts, (given) => embed(given)))).toHaveLength(texts.length);
    const model = fileURLToPath(new URL('recorded-sentences/cross-bert', import.meta.url));
    const pairs = [['lamp', 'room']] as const;
    expect(await resultOf(emptied(pairs, (given) => scorePairs(given, { model })))).toHaveLength(1);
    expect(await resultOf(emptied(texts, (given) => rerank('a lamp', given, { model, k: 5 })))).toHaveLength(5);
  });

  it('is what it was for search, and for changes of an index', async () => {
    await using index = await resultOf(emptied(texts, (given) => search(given)));
    expect(index.size).toBe(texts.length);
    await Promise.all([
      resultOf(emptied([{ id: 'a', text: 'a sofa' }], (given) => index.add(given))),
      resultOf(emptied([{ id: 'a', text: 'a rug' }], (given) => index.update(given))),
      resultOf(emptied(['0'], (given) => index.delete(given))),
    ]);
    const [best] = await resultOf(index.search('a rug', { k: 1 }));
    expect(best).toMatchObject({ id: 'a', passage: 'a rug' });
    expect(index.size).toBe(texts.length);
  });

  it('is what it was for an open model and suggestTexts', async () => {
    await using model = await resultOf(train({ rows, ...quick }));
    const all = texts.length;
    expect(await resultOf(emptied(texts, (given) => model.predict(given)))).toHaveLength(all);
    expect(await resultOf(emptied(rows, (given) => model.evaluate(given)))).toMatchObject({ rows: all });
    const baseline = await resultOf(emptied(texts, (given) => model.baseline({ texts: given })));
    expect(baseline).toMatchObject({ texts: all });
    expect(await resultOf(emptied(texts, (given) => model.drift(given, { baseline })))).toMatchObject({ texts: all });
    expect(await resultOf(emptied(texts, (given) => suggestTexts(model, given, { count: 3 })))).toHaveLength(3);
    const more = [{ text: 'a splendid sofa', label: 'positive' }];
    await using learned = await resultOf(emptied(more, (given) => model.learn(given)));
    expect(learned.training.train + learned.training.dev).toBe(all + 1);
  });
});
