import { describe, expect, it } from 'vitest';
import type { ModelType } from '../../src/contract/index.js';
import { readRows, type TrainingRow } from '../../src/datasets/index.js';
import { familyOfType } from '../../src/families/index.js';

/** Rows in memory become what a family trains on. */

async function checked(type: ModelType, given: readonly TrainingRow[], seed?: number) {
  const rows = await familyOfType(type).rows();
  return rows.check({ train: await readRows(given, { option: 'rows' }), seed }, type);
}

describe('rows in memory', () => {
  it('keep tabs and line breaks in their texts', async () => {
    const texts = ['so\tvery\r\ngood\n', 'fine\nenough', 'bad\tthing', 'no\r\n\r\ngood'];
    const rows = texts.map((text, at) => ({ text, label: at < 2 ? 'yes' : 'no' }));
    const { dataset, leftOut } = await checked('binary-text-classification', rows);
    expect(leftOut).toEqual([]);
    const all = [...dataset.train, ...dataset.dev];
    expect(all).toEqual(expect.arrayContaining(texts.map((text) => expect.objectContaining({ text }))));
  });

  it('that repeat an earlier one are left out, and counted', async () => {
    const good = Array.from({ length: 4 }, (_, at) => ({ text: `good ${at}`, label: 'a' }));
    const bad = Array.from({ length: 4 }, (_, at) => ({ text: `bad ${at}`, label: 'b' }));
    const { dataset, leftOut } = await checked('binary-text-classification', [...good, ...bad, ...good.slice(1)]);
    expect(dataset.train.length + dataset.dev.length).toBe(8);
    expect(leftOut).toMatchObject([
      {
        kind: 'duplicate_row',
        count: 3,
        message: '3 repeated rows were left out; each distinct row is used once',
        examples: [{ file: 'rows', line: 9 }, {}, {}],
      },
    ]);
  });

  it('with a problem are left out if that is asked for, and counted once each, whatever number of problems they have', async () => {
    const good = Array.from({ length: 8 }, (_, at) => ({ text: `a ${at}`, text2: 'b', label: at < 4 ? 'yes' : 'no' }));
    const wrong = [
      { text: ' ', text2: '', label: 'yes' },
      { text: 'a', text2: '', label: 'no' },
    ];
    const rows = await familyOfType('binary-text-classification').rows();
    const train = await readRows([...good, ...wrong], { option: 'rows' });
    const { leftOut } = await rows.check({ train, skipInvalid: true }, 'binary-text-classification');
    const message = expect.stringMatching(/^2 rows with a problem were left out, such as: .*\(and 2 more\)$/);
    expect(leftOut).toMatchObject([{ kind: 'invalid_row', count: 2, message }]);
  });

  it('of questions and of sentences are counted in the same way', async () => {
    const questions = ['a', 'b', 'c', 'c'].map((each) => ({ question: `${each}?`, passage: each }));
    expect((await checked('question-answering', questions)).leftOut[0]?.count).toBe(1);
    const sentences = ['Ada', 'Bob', 'Eve', 'Ada'].map((name) => ({
      text: `${name}\nsang`,
      entities: [{ start: 0, end: 3, type: 'PER' }],
    }));
    expect((await checked('named-entity-recognition', sentences)).leftOut[0]?.count).toBe(1);
  });
});

describe('warnings about rows in memory', () => {
  it('call the dev rows of entities dev, as the option does', async () => {
    const sung = (name: string, type: string) => ({
      text: `${name} sang`,
      entities: [{ start: 0, end: name.length, type }],
    });
    const rows = [sung('Ada', 'PER'), sung('Abba', 'ORG')];
    const [train, dev] = [
      await readRows(rows, { option: 'rows' }),
      await readRows(rows.slice(0, 1), { option: 'dev' }),
    ];
    const family = await familyOfType('named-entity-recognition').rows();
    const { dataset } = await family.check({ train, dev }, 'named-entity-recognition');
    expect(dataset.warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/in dev/),
      'no sentence of dev has an entity of the type "ORG"',
    ]);
  });

  it('name no file of an archive for passages without a question', async () => {
    const [train, dev] = [
      await readRows([{ question: 'a?', passage: 'a' }], { option: 'rows' }),
      await readRows([{ question: 'b?', passage: 'b' }], { option: 'dev' }),
    ];
    const family = await familyOfType('question-answering').rows();
    const { dataset } = await family.check({ train, dev, passages: ['c'] }, 'question-answering');
    expect(dataset.warnings.map(({ message }) => message)).toEqual([
      '1 passage has no question and is searched like the others',
    ]);
  });
});

describe('the rows set aside for dev', () => {
  const common = Array.from({ length: 60 }, (_, at) => `common ${at}`);
  /** Two words of each of six rare labels; every row of theirs has the label `common` as well. */
  const rare = [...'abcdefghijkl'].map((letter, at) => ({ word: `rare${letter}`, label: `label ${at % 6}` }));
  const EACH_ONCE = ['label 0', 'label 1', 'label 2', 'label 3', 'label 4', 'label 5'];
  const SEEDS = [0, 1, 2, 3];

  /** The rare labels of the dev rows. */
  async function rareInDev(type: ModelType, rows: readonly TrainingRow[], seed: number) {
    const { dataset } = await checked(type, rows, seed);
    expect(dataset.dev).toHaveLength(EACH_ONCE.length + common.length / 10);
    const dev = JSON.stringify(dataset.dev);
    return rare
      .filter(({ word }) => dev.includes(word))
      .map(({ label }) => label)
      .sort();
  }

  it.each(SEEDS)('have one of the two rows of each rare label, with seed %i', async (seed) => {
    const rows = [
      ...common.map((text) => ({ text, labels: ['common'] })),
      ...rare.map(({ word, label }, at) => ({ text: word, labels: at < 6 ? [label, 'common'] : ['common', label] })),
    ];
    expect(await rareInDev('multilabel-text-classification', rows, seed)).toEqual(EACH_ONCE);
  });

  it.each(SEEDS)('have one of the two sentences of each rare type, with seed %i', async (seed) => {
    const entity = { start: 0, end: 6, type: 'common' };
    const rows = [
      ...common.map((text) => ({ text, entities: [entity] })),
      ...rare.map(({ word, label }) => ({
        text: `common ${word}`,
        entities: [entity, { start: 7, end: 7 + word.length, type: label.replace(' ', '') }],
      })),
    ];
    expect(await rareInDev('named-entity-recognition', rows, seed)).toEqual(EACH_ONCE);
  });
});
