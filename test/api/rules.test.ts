import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  type EntityAnswer,
  folderModels,
  loadModel,
  Medley,
  type Model,
  memoryStorage,
  Predictor,
  type Rule,
  train,
} from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf, resultOf } from '../support/outcomes.js';

/** Rules next to models: of their folders, of a model that is loaded with them, and of a training. */

const catalogue = join(import.meta.dirname, '../../models/catalogue');
const entities = join(catalogue, 'named-entity-recognition');
const sentiment = join(catalogue, 'sentiment-classification');
const shopRules: readonly Rule[] = [
  { type: 'ORDER', pattern: 'A-\\d{5}' },
  { name: 'products', type: 'PRODUCT', terms: ['Acme Phone', 'Acme Phone Pro'], ignoreCase: true },
  { type: 'LOC', terms: ['東京'] },
];
const text = 'Ada Lovelace has the ACME  phone of order A-12345, 🎉 in 東京都 and London.';

let folder: string;
let model: Model<EntityAnswer>;
let plain: Model<EntityAnswer>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-rules-'));
  const name = 'named-entity-recognition';
  const modelLoader = folderModels(catalogue);
  model = await resultOf(loadModel(name, { modelLoader, rules: shopRules }));
  plain = await resultOf(loadModel(name, { modelLoader }));
});
afterAll(async () => {
  await Promise.all([model.close(), plain.close()]);
  await rm(folder, { recursive: true });
});

describe('a model that is loaded with rules', () => {
  it('answers with them, says which, and keeps what the model finds elsewhere', async () => {
    const { entities: found } = await resultOf(model.predict(text));
    expect(found.map(({ type, text: word, rule }) => [type, word, rule])).toEqual([
      ['PER', 'Ada Lovelace', undefined],
      ['PRODUCT', 'ACME  phone', 'products'],
      ['ORDER', 'A-12345', 0],
      ['LOC', '東京', 2],
      ['LOC', 'London', undefined],
    ]);
    for (const { start, end, text: word, rule, score } of found) {
      expect(text.slice(start, end)).toBe(word);
      if (rule !== undefined) expect(score).toBe(1);
    }
    expect(model.labels).toEqual(['LOC', 'ORG', 'PER', 'ORDER', 'PRODUCT']);
    expect(model.rules).toEqual(shopRules);
  });

  it('leaves the same model without rules as it is, and answers without them on request', async () => {
    const without = await resultOf(plain.predict([text, 'Nothing.']));
    expect(await resultOf(model.predict([text, 'Nothing.'], { rules: false }))).toEqual(without);
    expect(plain.rules).toEqual([]);
  });

  it('answers alike one by one, in arrays, in streams and in long texts', async () => {
    const one = await resultOf(model.predict(text));
    const many = await resultOf(model.predict(Array.from({ length: 70 }, () => text)));
    expect(many.every((answer) => JSON.stringify(answer) === JSON.stringify(one))).toBe(true);
    for await (const answer of model.predict([text].values())) expect(answer._unsafeUnwrap()).toEqual(one);
    const long = await resultOf(model.predict(`${'so it goes '.repeat(1000)}${text}`));
    expect(long.entities.map(({ type, rule }) => [type, rule]).slice(-4, -1)).toEqual([
      ['PRODUCT', 'products'],
      ['ORDER', 0],
      ['LOC', 2],
    ]);
  });

  it('explains that a rule gave an answer', async () => {
    const { explained } = await resultOf(model.explain('Ada Lovelace has A-12345'));
    expect(explained[1]).toEqual({
      ...{ answer: 'ORDER', score: 1, position: 1, words: [] },
      rule: { name: 0, text: 'A-12345', start: 17 },
    });
    expect(explained[0]).toMatchObject({ answer: 'PER', position: 0 });
    expect(explained[0]?.words.length).toBeGreaterThan(3);
  });

  it('is saved with them; further rules come before those of its folder', async () => {
    const saved = join(folder, 'saved');
    await resultOf(model.save(saved));
    await using again = await resultOf(loadModel(saved));
    expect(await resultOf(again.predict(text))).toEqual(await resultOf(model.predict(text)));
    expect(await resultOf(again.card())).toContain('## Rules\n\n3 rules (rules.json) answer before the model.');
    const first: Rule = { type: 'CODE', pattern: 'A-\\d+' };
    await using more = await resultOf(loadModel(saved, { rules: [first] }));
    expect(more.rules).toEqual([first, ...shopRules]);
    const answer = await resultOf(more.predict(text));
    const found = answer.kind === 'entities' ? answer.entities : [];
    expect(found.map(({ type, rule }) => [type, rule])).toContainEqual(['CODE', 0]);
    expect(found.map(({ type, rule }) => [type, rule])).toContainEqual(['LOC', 3]);
  });

  it('is evaluated with them or without them', async () => {
    const rows = [
      {
        text: 'Order A-12345 of Ada Lovelace',
        entities: [
          { start: 6, end: 13, type: 'ORDER' },
          { start: 17, end: 29, type: 'PER' },
        ],
      },
      { text: 'A-99999 is late.', entities: [{ start: 0, end: 7, type: 'ORDER' }] },
    ];
    const recall = async (rules: boolean) => {
      const evaluation = await resultOf(model.evaluate(rows, { rules, resamples: 100 }));
      if (evaluation.kind !== 'entities') throw new Error(evaluation.kind);
      expect(evaluation.unknownLabels).toBeUndefined();
      return evaluation.classes.find(({ label }) => label === 'ORDER')?.recall;
    };
    expect(await recall(true)).toBe(1);
    expect(await recall(false)).toBe(0);
  });

  it('names the rule that is wrong', async () => {
    const refusal = async (rules: readonly Rule[], name = entities) =>
      (await errorOf(loadModel(name, { rules }))).message;
    expect(await refusal([shopRules[0] ?? expect.fail(), { type: 'X', pattern: '(a' }])).toMatch(
      /^rules\.1\.pattern: Invalid regular/,
    );
    expect(await refusal([{ label: 'x', terms: ['a'] }])).toMatch(
      /^rules\.0\.label: rule 0 \(x\): rules with label apply only to classifiers/,
    );
    expect(await refusal([{ label: 'x', terms: ['a'] }], sentiment)).toMatch(
      /has no label "x"; it has negative, positive$/,
    );
    await using slow = await resultOf(loadModel(entities, { rules: [{ name: 'bad', type: 'X', pattern: '(a+)+c' }] }));
    const error = await errorOf(slow.predict('a'.repeat(40)));
    expect(error.code).toBe('validation');
    expect(error.message).toMatch(/rule "bad" \(X\): the pattern takes too long/);
    expect((await slow.predict('aac')).isOk()).toBe(true);
  });
});

describe('a folder with rules', () => {
  it('answers with them through a Predictor and a Medley', async () => {
    const models = join(folder, 'models');
    await resultOf(model.save(join(models, 'named-entity-recognition')));
    const modelLoader = folderModels(models);
    await using predictor = new Predictor({ storage: memoryStorage(), modelLoader });
    const { data } = await resultOf(predictor.predictPretrained('named-entity-recognition', text));
    expect(data.rules).toEqual([null, 'products', 0, 2, null]);
    expect(data.tokens?.[2]).toBe('A-12345');
    await using medley = new Medley({ modelLoader });
    const asked = await resultOf(medley.predict({ query: text, models: ['named-entity-recognition'] }));
    expect(asked.data['named-entity-recognition']).toEqual(data);
  });

  it('says what is wrong with the file', async () => {
    const broken = join(folder, 'broken');
    await resultOf(model.save(broken));
    await writeFile(join(broken, 'rules.json'), '[{"type":"X","pattern":"("}]');
    const { message } = await errorOf(loadModel(broken));
    expect(message).toMatch(/rules\.json: 0\.pattern: Invalid regular expression/);
  });
});

describe('rules of a classifier', () => {
  it('answer or veto, and show in label, scores and explanation', async () => {
    const rules: readonly Rule[] = [
      { label: 'negative', terms: ['refund'], ignoreCase: true },
      { not: 'positive', pattern: 'broke[n]?' },
    ];
    await using model = await resultOf(
      loadModel('sentiment-classification', { modelLoader: folderModels(catalogue), rules }),
    );
    expect(await resultOf(model.predict('I love it. REFUND!'))).toEqual({
      ...{ kind: 'labels', label: 'negative', score: 1, rule: 0, labels: ['negative'] },
      scores: [
        { label: 'negative', score: 1, rule: 0 },
        { label: 'positive', score: 0 },
      ],
    });
    expect(await resultOf(model.predict('wonderful, but broken'))).toEqual({
      ...{ kind: 'labels', label: 'negative', score: 1, labels: ['negative'] },
      scores: [
        { label: 'negative', score: 1 },
        { label: 'positive', score: 0, rule: 1 },
      ],
    });
    const { explained } = await resultOf(model.explain('I love it. REFUND!'));
    expect(explained).toEqual([
      { answer: 'negative', score: 1, position: 0, words: [], rule: { name: 0, text: 'REFUND', start: 11 } },
    ]);
    const vetoed = await resultOf(model.explain('wonderful, but broken', { label: 'positive' }));
    expect(vetoed.explained[0]).toMatchObject({ answer: 'positive', score: 0, position: 1, rule: { name: 1 } });
  });

  it('of several labels set or remove each', async () => {
    const rows = Array.from({ length: 24 }, (_, at) => ({
      text: `${['a red ball', 'a blue box', 'a red box', 'a blue ball'][at % 4]} ${at}`,
      labels:
        [
          ['red', 'ball'],
          ['blue', 'box'],
          ['red', 'box'],
          ['blue', 'ball'],
        ][at % 4] ?? [],
    }));
    const rules: readonly Rule[] = [
      { not: 'box', terms: ['paper'] },
      { label: 'box', terms: ['crate', 'paper'] },
    ];
    await using model = await resultOf(train({ rows, rules, threads: 1 }));
    const { labels, scores } = await resultOf(model.predict('a red crate'));
    expect(labels).toContain('box');
    expect(scores.find(({ label }) => label === 'box')).toEqual({ label: 'box', score: 1, rule: 1 });
    const paper = await resultOf(model.predict('a blue box of paper'));
    expect(paper.labels).not.toContain('box');
    expect(paper.scores.find(({ label }) => label === 'box')).toEqual({ label: 'box', score: 0, rule: 0 });
  });
});

const names = ['Ada', 'Bo', 'Cy', 'Di', 'Eve', 'Flo'];
const orderRows = Array.from({ length: 24 }, (_, at) => {
  const name = names[at % names.length] ?? '';
  const order = `order-${100 + at}`;
  const said = at % 2 === 0 ? `${name} sent (${order}).` : `We have ${order}, says ${name}.`;
  const place = (word: string, type: string) => ({
    start: said.indexOf(word),
    end: said.indexOf(word) + word.length,
    type,
  });
  return { text: said, entities: [place(name, 'PER'), place(order, 'ORDER')].sort((a, b) => a.start - b.start) };
});

describe('train with rules', () => {
  it('keeps them in the folder, counts them in the figures, and learns the same', async () => {
    const rules: readonly Rule[] = [
      { type: 'ORDER', pattern: '(?<=\\()order-\\d+(?=\\)\\.)|order-\\d+(?=,)' },
      { type: 'PER', terms: names },
    ];
    const output = join(folder, 'orders');
    await using model = await resultOf(train({ rows: orderRows, rules, output, threads: 1 }));
    // The patterns match in running text only: the figures are of the rows as they are.
    expect(model.training).toMatchObject({ f1: 1, macroF1: 1 });
    expect(model.training.parts?.blend.f1).toBe(1);
    const config = JSON.parse(await readFile(join(output, 'config.json'), 'utf8'));
    expect(config.orchard).toMatchObject({ rules: 2, files: expect.arrayContaining(['rules.json']) });
    expect(await resultOf(model.card())).toContain(
      '2 rules (rules.json) answer before the model. The figures of the blend include their answers.',
    );
    expect(await resultOf(model.report())).toContain('2 rules (rules.json) answer before the model.');
    await using plain = await resultOf(train({ rows: orderRows, threads: 1 }));
    const texts = orderRows.map(({ text: each }) => each);
    expect(await resultOf(model.predict(texts, { rules: false }))).toEqual(await resultOf(plain.predict(texts)));
    const { blend: _, ...parts } = model.training.parts ?? expect.fail('no parts');
    expect(plain.training.parts).toMatchObject(parts);
  });

  it('counts them in the figures of classifiers', async () => {
    const rows = Array.from({ length: 30 }, (_, at) => ({
      text: `row ${(at * 37) % 101} x${at}`,
      label: at % 3 === 0 ? 'spam' : 'ham',
    }));
    const spam = rows.flatMap(({ text: each, label }) => (label === 'spam' ? [each] : []));
    const ham = rows.flatMap(({ text: each, label }) => (label === 'ham' ? [each] : []));
    const rules: readonly Rule[] = [
      { label: 'spam', terms: spam },
      { not: 'spam', terms: ham },
    ];
    await using model = await resultOf(train({ rows, rules, threads: 1 }));
    expect(model.training).toMatchObject({ accuracy: 1, macroF1: 1, f1: 1 });
  });

  it('refuses a rule with an unknown label, and one for another kind of model', async () => {
    const rows = orderRows.map(({ text: each }, at) => ({ text: each, label: at % 2 ? 'a' : 'b' }));
    const refusal = async (rules: readonly Rule[]) => (await errorOf(train({ rows, rules, threads: 1 }))).message;
    expect(await refusal([{ label: 'c', terms: ['x'] }])).toMatch(
      /^rules\.0\.label: rule 0 \(c\): the model has no label "c"; it has a, b/,
    );
    expect(await refusal([{ type: 'X', terms: ['x'] }])).toMatch(
      /rules with a type apply only to models that find entities/,
    );
  });
});

describe('redact', () => {
  it('replaces entities by their type, a text or what a function makes of them', async () => {
    expect((await resultOf(model.redact(text))).text).toBe(
      '[PER] has the [PRODUCT] of order [ORDER], 🎉 in [LOC]都 and [LOC].',
    );
    const { text: redacted, entities: replaced } = await resultOf(
      model.redact(text, { PER: '[name]', ORDER: ({ text: order }) => order.replaceAll(/\d/g, '#') }),
    );
    expect(redacted).toBe('[name] has the ACME  phone of order A-#####, 🎉 in 東京都 and London.');
    expect(replaced.map(({ type, start, end, replacement }) => [type, text.slice(start, end), replacement])).toEqual([
      ['PER', 'Ada Lovelace', '[name]'],
      ['ORDER', 'A-12345', 'A-#####'],
    ]);
  });

  it('takes arrays and streams, as predict does', async () => {
    const all = await resultOf(model.redact([text, 'Nobody.'], { PER: true }));
    expect(all.map((each) => each.text.slice(0, 9))).toEqual(['[PER] has', 'Nobody.']);
    const streamed: string[] = [];
    for await (const each of model.redact([text, '', 'Nobody.'].values(), { PER: true })) {
      streamed.push(each.isOk() ? each.value.text.slice(0, 9) : each.error.code);
    }
    expect(streamed).toEqual(['[PER] has', 'validation', 'Nobody.']);
  });

  it('gives back the text when what it replaced is put in again', async () => {
    const words = fc.constantFrom(
      'Ada Lovelace',
      'London',
      'A-12345',
      'acme phone',
      '東京',
      '🎉',
      'e\u0301té',
      'went to',
      ',',
      '👩‍👩‍👧',
    );
    const texts = fc.sample(
      fc.array(words, { minLength: 1, maxLength: 12 }).map((each) => each.join(' ')),
      { numRuns: 200, seed: 3 },
    );
    const all = await resultOf(
      model.redact(texts, { PER: '\u0000', LOC: '\u0000', ORDER: '\u0000', PRODUCT: '\u0000', ORG: '\u0000' }),
    );
    for (const [at, { text: redacted, entities: replaced }] of all.entries()) {
      let next = 0;
      expect(redacted.replaceAll('\u0000', () => replaced[next++]?.text ?? '')).toBe(texts[at]);
      expect(next).toBe(replaced.length);
      for (const { start, end, text: word } of replaced) expect(texts[at]?.slice(start, end)).toBe(word);
    }
    expect(all.reduce((sum, { entities: replaced }) => sum + replaced.length, 0)).toBeGreaterThan(300);
  });

  it('refuses types that the model lacks, and models of another kind', async () => {
    expect((await errorOf(model.redact(text, { PERSON: true }))).message).toMatch(
      /^replacements\.PERSON: the model has no entity type "PERSON"; it has LOC/,
    );
    await using classifier = await resultOf(loadModel(sentiment));
    expect((await errorOf(classifier.redact('Ada'))).message).toMatch(/finds no entities/);
  });
});

describe('rules that are refused', () => {
  // As a program without types passes them.
  const refusal = async (rules: object) =>
    (await errorOf(loadModel(entities, { rules: JSON.parse(JSON.stringify(rules)) }))).message;
  it.each([
    ['an invalid pattern', [{ type: 'X', pattern: '(a' }], /^rules\.0\.pattern: Invalid regular expression/],
    [
      'a pattern for the empty text',
      [{ type: 'X', pattern: 'a*' }],
      /^rules\.0\.pattern: the pattern matches the empty text/,
    ],
    [
      'a RegExp',
      [{ type: 'X', pattern: /a/ }],
      /^rules\.0\.pattern: give the source of a regular expression as a string/,
    ],
    ['no terms', [{ type: 'X', terms: [] }], /^rules\.0\.terms: give at least one term/],
    ['a blank term', [{ type: 'X', terms: ['a', ' '] }], /^rules\.0\.terms\.1: give 1 to 500 characters/],
    ['pattern and terms', [{ type: 'X', pattern: 'a', terms: ['a'] }], /^rules\.0: give either pattern or terms/],
    [
      'type and label',
      [{ type: 'X', label: 'a', terms: ['a'] }],
      /^rules\.0: give exactly one of type \(for entities\), label and not/,
    ],
    [
      'bounds of a pattern',
      [{ type: 'X', pattern: 'a', wholeWords: true }],
      /^rules\.0\.wholeWords: applies only to terms/,
    ],
    [
      'a type with white space',
      [{ type: 'X Y', terms: ['a'] }],
      /^rules\.0\.type: an entity type may not contain white space/,
    ],
    ['no rules', [], /give at least one rule/],
  ])('%s', async (_, rules, message) => {
    expect(await refusal(rules)).toMatch(message);
  });
});
