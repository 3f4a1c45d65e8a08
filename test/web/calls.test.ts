import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { embed, exportModel, loadModel, type Rule } from '../../src/index.js';
import { ForwardPass } from '../../src/wasm/index.js';
import { type Answer, openModel, type WebModel } from '../../src/web.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { byLabel, largestDifference } from './same-answers.js';

const catalogue = 'models/catalogue';
const classifier = 'sentiment-classification';

/** A copy of a catalogue model in which the `orchard` section of config.json has other fields. */
function changed(name: string, orchard: object): string {
  const folder = join(temporaryDirectory(), name);
  cpSync(join(catalogue, name), folder, { recursive: true });
  const file = join(folder, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...config, orchard: { ...config.orchard, ...orchard } }));
  return folder;
}

/** The same model as a file for the web. */
async function onTheWeb(folder: string): Promise<WebModel> {
  const path = join(temporaryDirectory(), 'model.orchard');
  await resultOf(exportModel(folder, path, { for: 'web' }));
  return resultOf(openModel(path));
}

const alike = (given: readonly object[], expected: readonly object[]) =>
  expect(largestDifference(given.map(byLabel), expected.map(byLabel))).toBeLessThan(5e-3);

let model: WebModel;
beforeAll(async () => {
  model = await resultOf(openModel(join(catalogue, classifier)));
});

describe('a stream of texts', () => {
  const texts = ['Works perfectly!', ' ', 'It broke at once.'];
  async function* arriving() {
    for (const text of texts) yield text;
  }

  it('is answered text by text, from any iterable; a text that fails yields its error', async () => {
    for (const source of [new Set(texts), arriving()]) {
      const codes: string[] = [];
      for await (const answer of model.predict(source)) {
        codes.push(
          answer.match(
            (found) => ('label' in found ? found.label : found.kind),
            ({ code }) => code,
          ),
        );
      }
      expect(codes).toEqual(['positive', 'validation', 'negative']);
    }
  });

  it('is read no faster than it is answered', async () => {
    let read = 0;
    function* counted() {
      for (const text of ['one', 'two', 'three']) {
        read += 1;
        yield text;
      }
    }
    for await (const _ of model.predict(counted())) break;
    expect(read).toBe(1);
  });

  it('ends with an error that every text would have', async () => {
    const stop = AbortSignal.abort();
    const wrong: object = { inFlight: 8 };
    for (const [options, code] of [
      [{ signal: stop }, 'aborted'],
      [wrong, 'validation'],
    ] as const) {
      const codes: (string | undefined)[] = [];
      for await (const answer of model.predict(new Set(texts), options))
        codes.push(answer.isErr() ? answer.error.code : undefined);
      expect(codes).toEqual([code]);
    }
  });
});

describe('a signal', () => {
  it('ends a stream of texts while its source waits', async () => {
    const stop = new AbortController();
    async function* source() {
      yield 'Works perfectly!';
      setTimeout(() => stop.abort());
      await new Promise(() => {});
    }
    const codes: (string | undefined)[] = [];
    for await (const answer of model.predict(source(), { signal: stop.signal }))
      codes.push(answer.isErr() ? answer.error.code : undefined);
    expect(codes).toEqual([undefined, 'aborted']);
  });
});

describe('a deadline', () => {
  const many = Array.from({ length: 3000 }, (_, at) => `Text number ${at} is neither good nor bad.`);

  it('ends a call that takes longer, and a call that waits for another one', async () => {
    const stop = new AbortController();
    const long = model.predict(many, { signal: stop.signal });
    const [late, waiting] = await Promise.all([
      errorOf(model.predict('x', { deadlineMs: 20 })),
      errorOf(model.explain('x', { deadlineMs: 20 })),
    ]);
    expect(late).toMatchObject({ code: 'deadline', deadlineMs: 20 });
    expect(waiting).toMatchObject({ code: 'deadline' });
    stop.abort();
    expect(await errorOf(long)).toMatchObject({ code: 'aborted' });
    expect(await errorOf(model.predict(many, { deadlineMs: 5 }))).toMatchObject({ code: 'deadline' });
    expect(await resultOf(model.predict('Great!'))).toMatchObject({ label: 'positive' });
  });

  it.each(['deadline', 'signal'])('or a signal stops the computation, not only the wait for it (%s)', async (kind) => {
    const pass = vi.spyOn(ForwardPass.prototype, 'run');
    onTestFinished(() => pass.mockRestore());
    const ends = kind === 'deadline' ? { deadlineMs: 50 } : { signal: AbortSignal.timeout(50) };
    await errorOf(model.predict(many, ends));
    const computed = pass.mock.calls.length;
    expect(computed).toBeLessThan(many.length);
    await resultOf(model.predict('Great!'));
    expect(pass.mock.calls.length).toBe(computed + 1);
  });

  it('is a number of milliseconds', async () => {
    for (const deadlineMs of [0, -1, Number.NaN, 2 ** 31]) {
      expect(await errorOf(model.predict('x', { deadlineMs }))).toMatchObject({
        ...{ code: 'validation', problems: [{ loc: ['deadlineMs'] }] },
      });
    }
    expect(await resultOf(model.predict('Great!', { deadlineMs: 9999.5 }))).toMatchObject({ label: 'positive' });
  });
});

describe('an option that a call does not have', () => {
  it('is refused with those that it has', async () => {
    const given: object = { threshold: 1 };
    for (const call of [
      model.predict('x', given),
      model.explain('x', given),
      model.embed(['x'], given),
      model.search(['x'], given),
      (await resultOf(model.search(['x']))).search('x', given),
    ]) {
      const { message } = await errorOf<unknown, Error>(call);
      expect(message).toContain('threshold');
      expect(message).toContain('signal');
    }
    for (const misplaced of [new AbortController().signal, null]) {
      const refused: unknown = await Reflect.apply(model.predict, model, ['x', misplaced]);
      expect(refused).toMatchObject({ error: { message: 'give the options as an object, such as { signal }' } });
    }
    const wrong: object = { rules: 'no' };
    expect(await errorOf(model.predict('x', wrong))).toMatchObject({
      code: 'validation',
      problems: [{ loc: ['rules'] }],
    });
  });
});

describe('rules of a model', () => {
  const cases: readonly (readonly [string, readonly Rule[], readonly string[]])[] = [
    [
      classifier,
      [
        { label: 'negative', terms: ['refund'], name: 'refunds' },
        { not: 'positive', pattern: 'wo+w', ignoreCase: true },
      ],
      ['Great refund!', 'WOOW, works perfectly!', 'Works perfectly!'],
    ],
    [
      'named-entity-recognition',
      [
        { type: 'ORDER', pattern: 'A-\\d{5}' },
        { type: 'SHOP', terms: ['the corner shop'], ignoreCase: true },
      ],
      ['Angela Merkel ordered A-12345 from The  Corner Shop in Berlin.', 'Nothing.'],
    ],
  ];

  it.each(cases)(
    'of %s apply as in Node, in explanations too, unless they are left out',
    async (name, rules, texts) => {
      const folder = join(temporaryDirectory(), 'ruled');
      await using plain = await resultOf(loadModel(name, { rules }));
      await resultOf(plain.save(folder));
      await using node = await resultOf(loadModel(folder));
      const web = await onTheWeb(folder);
      expect(web.rules).toEqual(node.rules);
      expect(web.labels).toEqual(node.labels);
      const answers: readonly Answer[] = await resultOf(web.predict(texts));
      alike(answers, await resultOf(node.predict(texts)));
      expect(JSON.stringify(answers)).toContain('"rule"');
      const without = await resultOf(web.predict(texts, { rules: false }));
      alike(without, await resultOf(node.predict(texts, { rules: false })));
      expect(JSON.stringify(without)).not.toContain('"rule"');
      for (const text of texts) {
        const [ours, theirs] = [await resultOf(web.explain(text)), await resultOf(node.explain(text))];
        alike([ours.answer], [theirs.answer]);
        expect(ours.explained.map(({ answer, rule }) => [answer, rule])).toEqual(
          theirs.explained.map(({ answer, rule }) => [answer, rule]),
        );
      }
    },
  );

  it('that are missing or damaged are refused by name', async () => {
    const missing = changed(classifier, { rules: 1 });
    expect(await errorOf(openModel(missing))).toMatchObject({ code: 'model_folder', file: 'rules.json' });
    const path = join(temporaryDirectory(), 'model.orchard');
    expect(await errorOf(exportModel(missing, path, { for: 'web' }))).toMatchObject({
      ...{ code: 'model_folder', file: join(missing, 'rules.json') },
    });
  });
});

describe('a model of pairs', () => {
  it('answers pairs as in Node, and refuses single texts and explanations', async () => {
    const folder = changed(classifier, { parts: 'pair' });
    await using node = await resultOf(loadModel(folder));
    const web = await onTheWeb(folder);
    expect(web.readsPairs).toBe(true);
    const pairs = [
      { text: 'Works perfectly!', text2: 'It broke at once.' },
      { text: 'It broke.', text2: 'Great value, thank you!' },
    ];
    const answers = await resultOf(web.predict(pairs));
    alike(answers, await resultOf(node.predict(pairs)));
    expect(answers[0]).not.toEqual(answers[1]);
    expect(await errorOf(web.predict('single'))).toMatchObject({ message: expect.stringContaining('text2') });
    expect(await errorOf(web.predict([{ text: 'a', text2: ' ' }]))).toMatchObject({
      problems: [{ loc: ['texts', 0, 'text2'] }],
    });
    expect(await errorOf(web.explain('x'))).toMatchObject({ message: expect.stringContaining('pairs') });
    const pair: unknown = pairs[0];
    expect(await errorOf(model.predict(pair as string))).toMatchObject({ message: expect.stringContaining('pair') });
  });
});

/** The encoder of a catalogue model as sentence-transformers would have saved it. */
function sentenceFolder(pooling: object, similarity: string, normalize: boolean): string {
  const folder = join(temporaryDirectory(), 'sentences');
  cpSync(join(catalogue, classifier), folder, { recursive: true });
  mkdirSync(join(folder, '1_Pooling'));
  const modules = ['Transformer', 'Pooling', ...(normalize ? ['Normalize'] : [])].map((type, idx) => ({
    ...{ idx, name: String(idx), path: idx === 0 ? '' : `${idx}_${type}` },
    type: `sentence_transformers.models.${type}`,
  }));
  writeFileSync(join(folder, 'modules.json'), JSON.stringify(modules));
  const { hidden_size } = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
  writeFileSync(
    join(folder, '1_Pooling', 'config.json'),
    JSON.stringify({ word_embedding_dimension: hidden_size, ...pooling }),
  );
  const prompts = { query: 'find: ', passage: 'text: ', topic: 'about ' };
  writeFileSync(
    join(folder, 'config_sentence_transformers.json'),
    JSON.stringify({ prompts, default_prompt_name: 'topic', similarity_fn_name: similarity }),
  );
  return folder;
}

describe('an encoder of sentence-transformers', () => {
  const texts = ['Cats sleep all day.', 'The train to Paris leaves at nine.'];
  const largest = (ours: readonly Float32Array[], theirs: readonly Float32Array[]) =>
    Math.max(
      ...ours.flatMap((vector, at) => Array.from(vector, (value, i) => Math.abs(value - (theirs[at]?.[i] ?? 9)))),
    );

  it.each([
    [{ pooling_mode_cls_token: true }, 'cosine', true],
    [{ pooling_mode_mean_tokens: true }, 'dot', false],
    [{ pooling_mode_max_tokens: true, include_prompt: false }, 'euclidean', false],
    [{ pooling_mode_mean_tokens: true, pooling_mode_lasttoken: true }, 'cosine', true],
  ])('with %j, %s, gives the vectors that Node gives, with its prompts', async (pooling, similarity, normalize) => {
    const folder = sentenceFolder(pooling, similarity, normalize);
    const web = await onTheWeb(folder);
    for (const prompt of [undefined, 'query', 'document', 'topic', { text: 'so: ' }] as const) {
      const ours = await resultOf(web.embed(texts, { prompt }));
      expect(largest(ours, await resultOf(embed(texts, { model: folder, prompt })))).toBeLessThan(1e-3);
    }
    const index = await resultOf(web.search(texts));
    expect((await resultOf(index.search('When does the train leave?', { k: 1 })))[0]?.index).toBe(1);
  });

  it('refuses what it has not, and what it can not do', async () => {
    const web = await onTheWeb(sentenceFolder({ pooling_mode_cls_token: true }, 'manhattan', false));
    expect((await errorOf(web.embed(texts, { prompt: 'title' }))).message).toContain('topic');
    expect((await errorOf(web.predict('x'))).message).toContain('embed');
    expect(await errorOf(web.search(texts))).toMatchObject({
      ...{ code: 'model_folder', message: expect.stringContaining('manhattan') },
    });
    expect((await errorOf(model.embed(texts, { prompt: 'topic' }))).message).toContain('it has none');
  });
});

describe('a search index', () => {
  const passages = [
    { id: 'cats', text: 'Cats sleep all day.', data: { page: 1 } },
    'The train to Paris leaves at nine.',
    { text: 'The last train to Rome leaves at ten.', data: { page: 3 } },
  ];

  it('gives passages with their ids and data, among those that are wanted', async () => {
    const index = await resultOf(model.search<{ page: number }>(passages));
    expect(index.size).toBe(3);
    const asked: (string | undefined)[] = [];
    const [first, ...others] = await resultOf(
      index.search('When does the train leave?', {
        where: (data, id) => {
          asked.push(id);
          return data !== undefined;
        },
      }),
    );
    expect(asked).toEqual(['cats', '1', '2']);
    expect(first).toMatchObject({
      id: '2',
      index: 2,
      data: { page: 3 },
      passage: 'The last train to Rome leaves at ten.',
    });
    expect(others.map(({ id }) => id)).toEqual(['cats']);
  });

  it('tells how far it is, and stems words of English, by its name or code', async () => {
    const seen: number[] = [];
    const index = await resultOf(
      model.search(['She was running.', 'Bread.'], { language: 'en-GB', onProgress: ({ done }) => seen.push(done) }),
    );
    expect(seen).toEqual([2]);
    const other = await resultOf(model.search(['She was running.', 'Bread.'], { language: 'German' }));
    const score = async (searched: typeof index) => (await resultOf(searched.search('runs')))[0]?.score ?? 0;
    expect(await score(index)).toBeGreaterThan(await score(other));
  });

  it('names the passage that is wrong', async () => {
    const one = 'a passage';
    const extra: object = { text: one, title: 'x' };
    const wrong: readonly (readonly [unknown, readonly (string | number)[]])[] = [
      [[], ['passages']],
      [one, ['passages']],
      [
        [one, ' '],
        ['passages', 1],
      ],
      [[{ id: '', text: one }], ['passages', 0, 'id']],
      [[one, extra], ['title']],
      [
        [
          { id: 'a', text: one },
          { id: 'a', text: one },
        ],
        ['passages', 1, 'id'],
      ],
    ];
    for (const [given, loc] of wrong) {
      const error = await errorOf(model.search(given as string[]));
      expect(error).toMatchObject({ code: 'validation', problems: [{ loc }] });
    }
    const index = await resultOf(model.search([one]));
    for (const options of [{ k: 0 }, { k: 1.5 }, { minScore: 2 }, { where: () => Promise.resolve(true) }]) {
      const given: object = options;
      expect(await errorOf(index.search('x', given))).toMatchObject({ code: 'validation' });
    }
  });
});
