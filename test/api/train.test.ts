import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ok, safeTry } from 'neverthrow';
import {
  crossValidate,
  embed,
  type LabelAnswer,
  loadModel,
  type Model,
  search,
  type TrainedModel,
  type TrainingEvent,
  train,
} from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rows } from '../public/sentiments.js';
import { anArchive } from '../support/archive-builder.js';

/** From rows to an open model in one call. */

/** Short: the lexical expert learns these rows by itself. */
const quick = { pretrained: false, epochs: 2, threads: 1 } as const;

let folder: string;
let model: TrainedModel<LabelAnswer>;
let output: string;
const events: TrainingEvent[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-easy-'));
  output = join(folder, 'sentiments');
  async function* stream() {
    yield* rows;
  }
  const onProgress = (event: TrainingEvent) => events.push(event);
  const trained = await train({ rows: stream(), ...quick, output, test: rows.slice(0, 20), onProgress });
  if (trained.isErr()) throw trained.error;
  model = trained.value;
});
afterAll(async () => {
  await model?.close();
  await rm(folder, { recursive: true });
});

/** Opens, and closes after the test. */
async function opened(name: string): Promise<Model> {
  const loaded = await loadModel(name, { workers: 1 });
  if (loaded.isErr()) throw loaded.error;
  return loaded.value;
}

describe('a model trained on rows', () => {
  it('says what it is and how good', () => {
    expect(model).toMatchObject({
      ...{ name: 'model', type: 'binary-text-classification', family: 'Papaya', kind: 'labels' },
      ...{ labels: ['negative', 'positive'], directory: output },
    });
    const { training } = model;
    expect(training).toMatchObject({ typeIs: 'inferred', reason: 'each row has one of 2 labels' });
    expect(training.train + training.dev).toBe(rows.length);
    expect(training.accuracy).toBe(training.parts?.blend.accuracy);
    expect(training.test).toMatchObject({ kind: 'labels', rows: 20 });
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['state', 'epoch', 'blend']));
  });

  it.each(['topK', 'threshold', 'labels'])('refuses the option %s, which no answer has', async (name) => {
    const options: object = { [name]: 1 };
    const refused = await model.predict('this lamp works perfectly', options);
    expect(refused.isErr() && refused.error.message).toContain(`unknown "${name}"; use \`signal\``);
  });

  it('answers a text, many texts, and texts as they come', async () => {
    const one = await model.predict('this lamp works perfectly');
    if (one.isErr()) throw one.error;
    const { label, score, labels, scores } = one.value;
    expect(label).toBe('positive');
    expect(labels).toEqual(['positive']);
    expect(scores.map((each) => each.label).sort()).toEqual(['negative', 'positive']);
    expect(scores[0]).toEqual({ label, score });

    const texts = Array.from({ length: 300 }, (_, at) => (at % 2 ? 'it is great' : 'it is terrible'));
    const many = await model.predict(texts);
    expect(many.isOk() && many.value.map((answer) => answer.label)).toEqual(
      texts.map((text) => (text === 'it is great' ? 'positive' : 'negative')),
    );

    let read = 0;
    function* endless() {
      for (;;) {
        read += 1;
        yield 'it is great';
      }
    }
    let answered = 0;
    for await (const answer of model.predict(endless(), { inFlight: 8 })) {
      expect(answer.isOk() && answer.value.label).toBe('positive');
      answered += 1;
      if (answered === 20) break;
    }
    expect(read).toBeLessThan(40);
  });

  it('has no answer to a blank text, wherever that stands', async () => {
    const told = 'the text is blank; leave it out';
    expect((await model.predict(' \n'))._unsafeUnwrapErr().message).toBe(`query: ${told}`);
    expect((await model.predict(['it is great', '']))._unsafeUnwrapErr().message).toBe(`texts.1: ${told}`);
    const answers: string[] = [];
    for await (const answer of model.predict(new Set(['it is great', '\u3000', 'it is terrible']))) {
      answers.push(answer.isOk() ? answer.value.label : answer.error.message);
    }
    expect(answers).toEqual(['positive', `query: ${told}`, 'negative']);
  });

  it('fails in "for await" over a result, which would run no step', async () => {
    const through = async (result: AsyncIterable<unknown>) => {
      for await (const _ of result) throw new Error('it runs');
    };
    for (const result of [
      model.predict(['it is great']),
      model.evaluate(rows),
      embed(['a text']),
      search(['a passage']),
      loadModel(model.directory),
    ]) {
      await expect(through(result)).rejects.toThrow(/"for await" can't iterate a ResultAsync; await it/);
      const value = (await result)._unsafeUnwrap();
      if ('close' in value) await value.close();
    }
    const answers = await safeTry(async function* () {
      const [one] = yield* model.predict(['it is great']);
      return ok(one?.label);
    });
    expect(answers.isOk()).toBe(true);
    const failed = await safeTry(async function* () {
      yield* model.predict(['']);
      return ok('no error');
    });
    expect(failed.isErr()).toBe(true);
  });

  it('explains an answer by its words, and says whether none of its labels may fit', async () => {
    const text = 'this lamp works perfectly';
    const explained = await model.explain(text);
    if (explained.isErr()) throw explained.error;
    const [{ answer, words } = { answer: '', words: [] }] = explained.value.explained;
    expect(answer).toBe('positive');
    expect(explained.value.answer.label).toBe('positive');
    const [first] = [...words].sort((a, b) => b.weight - a.weight);
    expect(['works', 'perfectly']).toContain(first?.word);
    expect((await model.explain(text, { label: 'neither' })).isErr()).toBe(true);
    const judged = await model.predict(text, { noneOfThese: true });
    expect(judged.isOk() && judged.value.noneOfThese).toBeTypeOf('boolean');
    expect((await model.predict(text)).isOk()).toBe(true);
  });

  it('names labels of the rows that it does not have, and rows without text or label', async () => {
    const great = { text: 'it is great', label: 'positive' };
    const judged = await model.evaluate([great, { ...great, label: 'Positive ' }, { ...great, label: 'other' }, great]);
    if (judged.isErr()) throw judged.error;
    const { kind } = judged.value;
    expect(kind === 'labels' && judged.value.unknownLabels).toEqual([
      { label: 'Positive ', rows: 1, similarTo: 'positive' },
      { label: 'other', rows: 1 },
    ]);
    const blank = [great, { ...great, text: ' ' }, { ...great, label: '' }];
    const refused = (await model.evaluate(blank))._unsafeUnwrapErr();
    expect(refused.message).toBe(
      'rows.1.text: give a text that is not blank; rows.2.label: give a label that is not blank',
    );
    const rest = (await model.evaluate(blank, { skipInvalid: true }))._unsafeUnwrap();
    expect(rest).toMatchObject({ rows: 1, accuracy: 1 });
    expect(rest).not.toHaveProperty('unknownLabels');
  });

  it('refuses rows with a label twice, and options for reading that they have no use for', async () => {
    const messageOf = async (
      given: Parameters<typeof model.evaluate>[0],
      options?: Parameters<typeof model.evaluate>[1],
    ) => (await model.evaluate(given, options))._unsafeUnwrapErr().message;
    const twice = [{ text: 'it is great', labels: ['positive', 'positive'] }];
    expect(await messageOf(twice)).toBe('rows.0.labels.1: give each label once');
    expect(await messageOf(rows, { offsets: 'bytes' })).toBe(
      'offsets: applies only to texts with entities; leave `offsets` out',
    );
    const path = join(folder, 'judged.jsonl');
    await writeFile(path, rows.map((row) => JSON.stringify(row)).join('\n'));
    expect(await messageOf(path, { delimiter: ';' })).toMatch(/^delimiter: .* judged\.jsonl was read as JSON Lines: /);
  });

  it('is judged on rows, which have to be of its kind', async () => {
    const evaluation = await model.evaluate(rows);
    expect(evaluation.isOk() && evaluation.value.kind === 'labels' && evaluation.value.accuracy).toBeGreaterThan(0.9);
    const wrong = await model.evaluate([{ question: 'a?', passage: 'a' }]);
    expect(wrong.isErr() && wrong.error.message).toMatch(/fields question and passage.*needs text and label/);
  });

  it('is a folder that can be opened, saved and asked elsewhere', async () => {
    expect(await readdir(output)).toEqual(expect.arrayContaining(['config.json', 'model.safetensors', 'README.md']));
    const copy = join(folder, 'copy');
    expect((await model.save(copy)).isOk()).toBe(true);
    await using again = await opened(copy);
    const [here, there] = [await model.predict('the room is a joy'), await again.predict('the room is a joy')];
    expect(there).toEqual(here);
    expect((await again.card()).unwrapOr('')).toContain('# model');
    expect((await again.report()).unwrapOr('')).toContain('<!doctype html>');
    expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('is closed once, and then says so', async () => {
    const another = await opened(output);
    await Promise.all([another.close(), another.close()]);
    const answer = await another.predict('it');
    expect(answer.isErr() && answer.error.message).toMatch(/this model is closed/);
    for await (const streamed of another.predict(new Set(['it']))) {
      expect(streamed.isErr() && streamed.error.message).toMatch(/this model is closed/);
    }
  });

  it('can be gone on from, with other labels and another task', async () => {
    const path = join(folder, 'Towns 2026.jsonl');
    const towns = ['Rome', 'Paris', 'Vienna', 'Oslo', 'Bern', 'Lima'];
    const lines = towns.flatMap((town, at) => {
      const text = `${['Ada', 'Bob', 'Eve'][at % 3]} went to ${town}`;
      return JSON.stringify({ text, entities: [{ start: 12, end: text.length, type: 'TOWN' }] });
    });
    await writeFile(path, lines.join('\n'));
    const trained = await train({ path, base: output, epochs: 1, threads: 1 });
    if (trained.isErr()) throw trained.error;
    await using towner = trained.value;
    expect(towner).toMatchObject({ name: 'towns-2026', type: 'named-entity-recognition', labels: ['TOWN'] });
    const config = JSON.parse(await readFile(join(towner.directory, 'config.json'), 'utf8'));
    expect(config.orchard.backbone).toBe('sentiments');
    const evaluation = await towner.evaluate([{ tokens: ['to', 'Rome'], tags: ['O', 'B-TOWN'] }]);
    expect(evaluation.isOk() && evaluation.value.kind).toBe('entities');
    const { directory } = towner;
    await towner.close();
    await expect(readdir(directory)).rejects.toThrow(/ENOENT/);
  });
});

it('says how many repeated rows it leaves out', async () => {
  const repeated = rows.slice(0, 3);
  const trained = await train({ rows: [...rows, ...repeated], ...quick, epochs: 1 });
  if (trained.isErr()) throw trained.error;
  await using again = trained.value;
  expect(again.training.train + again.training.dev).toBe(rows.length);
  const { warnings } = again.training;
  expect(warnings).toContainEqual(expect.objectContaining({ kind: 'duplicate_row', count: 3 }));
});

it('a label that is never found is named, though F1 and accuracy are high', async () => {
  const many = Array.from({ length: 60 }, (_, at) => ({
    text: `order ${at} of the lamp arrived today`,
    label: 'normal',
  }));
  const rare = { label: 'danger' };
  const given = [...many, { ...rare, text: 'it burnt my hand' }, { ...rare, text: 'smoke came out' }];
  const dev = [...many.slice(0, 19), { ...rare, text: 'sparks everywhere' }];
  const trained = await train({ rows: given, dev, ...quick });
  if (trained.isErr()) throw trained.error;
  await using found = trained.value;
  expect(found.training).toMatchObject({ accuracy: 0.95, f1: expect.closeTo(38 / 39, 6) });
  expect(found.training.warnings).toContainEqual({
    kind: 'label_not_found',
    count: 1,
    message:
      'the model never predicts "danger" (1 occurrence) correctly in the rows that it was evaluated on; add rows with this label',
    examples: [],
  });
});

it('figures depend on no name: each label has its own, and positive says whose F1 is reported', async () => {
  const danger = ['burnt my hand', 'it is smoking', 'sparks came out', 'it caught fire'];
  const given = [
    ...Array.from({ length: 60 }, (_, at) => ({ text: `order ${at} of the lamp arrived today`, label: 'normal' })),
    ...danger.map((text) => ({ text, label: 'danger' })),
  ];
  const dev = [...given.slice(0, 18), { text: 'it hissed', label: 'danger' }, { text: 'a loud bang', label: 'danger' }];
  const epochs: Extract<TrainingEvent, { type: 'epoch' }>[] = [];
  const onProgress = (event: TrainingEvent) => event.type === 'epoch' && epochs.push(event);
  const learned = (
    await train({ rows: given, dev, test: dev, ...quick, positive: 'danger', onProgress })
  )._unsafeUnwrap();
  await using model = learned;
  const { f1, positive, macroF1, classes = [], parts, test } = model.training;
  expect(positive).toBe('danger');
  expect(classes.map(({ label, support }) => [label, support])).toEqual([
    ['danger', 2],
    ['normal', 18],
  ]);
  expect(f1).toBe(classes[0]?.f1);
  expect(parts?.blend.f1).toBe(f1);
  expect(epochs.map((epoch) => epoch.positive)).toEqual(['danger', 'danger']);
  const pages = [await model.report(), await model.card()].map((page) => page._unsafeUnwrap());
  for (const page of pages) expect(page).toMatch(/F1 of (?:"|&quot;|&#34;)danger/);
  expect(macroF1).toBeCloseTo(((classes[0]?.f1 ?? 0) + (classes[1]?.f1 ?? 0)) / 2, 12);
  expect(test).toMatchObject({ positive: { label: 'danger', f1 }, macro: { f1: expect.closeTo(macroF1 ?? -1, 12) } });
  const refused = [
    await train({ rows: given, ...quick, positive: 'Danger' }),
    await train({ labels: ['danger', 'normal'], ...quick, positive: 'Danger' }),
    await crossValidate({ rows: given, ...quick, positive: 'Danger' }),
    await model.evaluate(dev, { positive: 'Danger' }),
  ];
  for (const result of refused)
    expect(result._unsafeUnwrapErr().message).toBe(
      'positive: "Danger" is not a label; the labels are "danger", "normal"',
    );
});

it('options for reading may be of use to the rows to train on or to those of test alone', async () => {
  const tagNames = ['O', 'B-TOWN'];
  const tagged = ['Rome', 'Oslo', 'Bern', 'Lima'].map((town) => ({ tokens: ['to', town], tags: ['O', 'B-TOWN'] }));
  const path = join(folder, 'numbered.jsonl');
  const numbered = tagged.map(({ tokens }) => ({ tokens, tags: [0, 1] }));
  await writeFile(path, numbered.map((row) => JSON.stringify(row)).join('\n'));
  for (const options of [
    { rows: tagged, test: path },
    { path, test: tagged },
  ]) {
    await using learned = (await train({ ...options, tagNames, ...quick }))._unsafeUnwrap();
    expect(learned.training.test).toMatchObject({ kind: 'entities', rows: 4 });
  }
});

it('positive is refused where a model does not choose between two labels', async () => {
  const feelings = ['calm', 'angry', 'sad'];
  const three = ['I am', 'You are', 'They are'].flatMap((who) =>
    feelings.map((label) => ({ text: `${who} ${label}`, label })),
  );
  const several = three.map(({ text, label }) => ({ text, labels: [label] }));
  const towns = ['Rome', 'Oslo'].map((name) => ({
    text: `to ${name}`,
    entities: [{ start: 3, end: 7, type: 'TOWN' }],
  }));
  const answered = ['where', 'when'].map((word) => ({ question: `${word}?`, passage: `The answer to ${word}.` }));
  const advice = 'leave `positive` out; for the F1 of each label, see classes in the result';
  const cases = [
    [train({ rows: three, positive: 'angry' }), `not to multiclass-text-classification with 3 labels; ${advice}`],
    [
      train({ labels: ['a', 'b', 'c'], positive: 'a' }),
      `not to multiclass-text-classification with 3 labels; ${advice}`,
    ],
    [crossValidate({ rows: three, folds: 2, positive: 'angry' }), `with 3 labels; ${advice}`],
    [train({ rows: several, positive: 'angry' }), `not to multilabel-text-classification; ${advice}`],
    [train({ rows: towns, positive: 'TOWN' }), `not to named-entity-recognition; ${advice}`],
    [train({ rows: answered, positive: 'where' }), 'not to question-answering; leave `positive` out'],
    [model.evaluate(rows, { positive: 'pos' }), '"pos" is not a label; the labels are "negative", "positive"'],
  ] as const;
  for (const [result, message] of cases) expect((await result)._unsafeUnwrapErr().message).toContain(message);
});

it('positive names a label of an archive, as a zip or a folder, by what label_id.json calls it', async () => {
  const texts = ['burnt my hand', 'it is smoking', 'sparks came out', 'arrived today', 'works well', 'as described'];
  const archive = anArchive()
    .withLabels(['danger', 'normal'])
    .withRows(texts.map((text, at) => [text, at < 3 ? 0 : 1]));
  const unpacked = join(folder, 'lamps');
  await mkdir(unpacked);
  archive.writeTo(unpacked);
  await writeFile(`${unpacked}.zip`, await archive.zipped());
  for (const path of [unpacked, `${unpacked}.zip`]) {
    const trained = await train({ path, ...quick, positive: 'danger' });
    await using lamps = trained._unsafeUnwrap();
    const { f1, positive, classes, parts } = lamps.training;
    expect([positive, f1, parts?.blend.f1]).toEqual(['danger', classes?.[0]?.f1, classes?.[0]?.f1]);
    expect(classes?.[0]?.label).toBe('danger');
    expect((await train({ path, ...quick, positive: '0' }))._unsafeUnwrapErr().message).toBe(
      'positive: "0" is not a label; the labels are "danger", "normal"',
    );
  }
});

describe('training fails', () => {
  const failure = async (options: Parameters<typeof train>[0]) => {
    const trained = await train(options);
    if (trained.isOk()) throw new Error('it was trained');
    return trained.error;
  };

  it('for options that it does not know, or that leave nothing to train on', async () => {
    expect((await failure({})).message).toMatch(/nothing to train on.*`rows`, `path` and `url`/);
    const wrong: object = { rows, epoch: 3 };
    expect((await failure(wrong)).message).toMatch(/epoch/);
    expect(await failure({ rows, passages: ['a'] })).toMatchObject({ code: 'validation' });
  });

  it('where the output is a folder of something else, before anything is read', async () => {
    const taken = join(folder, 'taken');
    await mkdir(taken);
    await writeFile(join(taken, 'thesis.doc'), 'years of work');
    expect((await failure({ rows, output: taken })).message).toMatch(/thesis\.doc.*give a new or empty folder/);
    expect(await readdir(taken)).toEqual(['thesis.doc']);
  });

  it('where the output can not be written, before anything is read', async () => {
    const file = join(folder, 'a-file');
    await writeFile(file, '');
    const unread = {
      [Symbol.iterator]: () => {
        throw new Error('the rows were read');
      },
    };
    for (const output of [join(file, 'model'), join(file, 'deeper', 'model'), '/proc/none/model']) {
      if (output.startsWith('/proc') && process.platform !== 'linux') continue;
      const error = await failure({ rows: unread, output });
      expect(error).toMatchObject({
        code: 'validation',
        problems: [{ loc: ['output'], type: expect.stringMatching(/^not_/) }],
      });
    }
    expect((await readdir(folder)).filter((name) => name.startsWith('.orchard'))).toEqual([]);
  });

  it('for the second of two runs that write the same folder at the same time', async () => {
    const place = join(folder, 'wanted');
    const both = await Promise.all([1, 2].map(() => train({ rows, ...quick, output: place })));
    const [refused, ...others] = both.flatMap((each) => (each.isErr() ? [each.error] : []));
    expect(others).toEqual([]);
    expect(refused).toMatchObject({ code: 'validation', problems: [{ loc: ['output'], type: 'in_use' }] });
    expect(refused?.message).toMatch(/another training run will write to .*wanted; wait .*, or give another folder/);
    for (const each of both) if (each.isOk()) await each.value.close();
    const third = await train({ rows, ...quick, output: place });
    if (third.isErr()) throw third.error;
    await third.value.close();
  });

  it('for rows, files and bases that are not there or do not fit', async () => {
    expect((await failure({ path: join(folder, 'none.csv') })).message).toMatch(/no such file/);
    expect(await failure({ rows, base: 'sentiment-clasification' })).toMatchObject({ code: 'not_found' });
    expect(await failure({ rows: rows.slice(0, 1) })).toMatchObject({ code: 'validation' });
    const dev = [{ text: 'x', label: 'neither' }];
    expect(await failure({ rows, dev, type: 'binary-text-classification' })).toMatchObject({
      code: 'dataset',
    });
  });

  it('once the signal fires, and leaves nothing behind', async () => {
    const controller = new AbortController();
    const place = join(folder, 'never');
    const onProgress = ({ type }: TrainingEvent) => {
      if (type === 'plan') controller.abort();
    };
    const error = await failure({ rows, ...quick, output: place, onProgress, signal: controller.signal });
    expect(error.code).toBe('aborted');
    await expect(readdir(place)).rejects.toThrow(/ENOENT/);
  });

  it('once the signal fires at the very end, and leaves nothing behind', async () => {
    const own = async () => (await readdir(tmpdir())).filter((name) => name.startsWith(`orchard-${process.pid}.`));
    const before = await own();
    const controller = new AbortController();
    const onProgress = (event: TrainingEvent) => {
      if (event.type === 'state' && event.status === 'READY') controller.abort();
    };
    const error = await failure({ rows, ...quick, onProgress, signal: controller.signal });
    expect(error.code).toBe('aborted');
    expect(await own()).toEqual(before);
  });
});
