import { describe, expect, it, onTestFinished } from 'vitest';
import {
  checkData,
  crossValidate,
  distill,
  embed,
  eraseAccount,
  exportModel,
  listUnusedModels,
  loadModel,
  Medley,
  memoryStorage,
  openSearch,
  orThrow,
  Predictor,
  rerank,
  scorePairs,
  search,
  Trainer,
  train,
  tune,
} from '../../src/index.js';
import { rows } from '../public/sentiments.js';

/** What is passed where a call's options belong, as JavaScript lets an application do. */

const texts = rows.map(({ text }) => text);

it.each([
  [train, [rows], 'train({ rows })', 'an array'],
  [train, ['rows.csv'], 'train({ rows })', 'a string'],
  [train, [rows, { epochs: 1 }], 'train({ rows })', 'an array'],
  [tune, [rows], 'tune({ rows })', 'an array'],
  [crossValidate, [rows], 'crossValidate({ rows })', 'an array'],
  [checkData, ['rows.csv'], 'checkData({ rows })', 'a string'],
  [distill, [texts], 'distill({ teacher, texts })', 'an array'],
  [loadModel, ['sentiment-classification', ['int8']], 'loadModel(name, { weights })', 'an array'],
  [loadModel, ['sentiment-classification', null], 'loadModel(name, { weights })', 'null'],
  [exportModel, ['model', 'web', 'web'], "exportModel(folder, output, { for: 'web' })", 'a string'],
  [embed, [texts, 'english-mini'], 'embed(texts, { model })', 'a string'],
  [search, [texts, 'english-mini'], 'search(passages, { model })', 'a string'],
  [openSearch, ['index', 'cpu'], 'openSearch(folder, { device })', 'a string'],
  [rerank, ['a question', texts, 'reranker'], 'rerank(question, passages, { model })', 'a string'],
  [scorePairs, [[['one', 'two']]], 'scorePairs(pairs, { model })', 'undefined'],
])('%o says where its options belong', async (call, given, example, found) => {
  const result: unknown = await Reflect.apply(call, undefined, given);
  const message = `give the options as an object, as in \`${example}\`, not ${found}`;
  expect(result).toMatchObject({ error: { code: 'validation', problems: [{ loc: [], msg: message }], message } });
});

it('does not name each of many unknown options', async () => {
  const letters = Object.fromEntries(Array.from('zyxwvutsrq', (letter) => [letter, 1]));
  const result: unknown = await Reflect.apply(embed, undefined, [texts, letters]);
  expect(result).toMatchObject({ error: { message: expect.stringMatching(/^unknown "z";.* and 2 more$/) } });
});

describe('a method', () => {
  const { signal } = new AbortController();
  const account = { app_id: 'a', tier: 'pro' } as const;
  const storage = memoryStorage();
  const opened = <Kept extends AsyncDisposable>(kept: Kept): Kept => {
    onTestFinished(() => kept[Symbol.asyncDispose]());
    return kept;
  };
  const model = async () => opened(await orThrow(loadModel('sentiment-classification')));
  const index = async () => opened(await orThrow(search(['one passage', 'another'])));
  const predictor = () => opened(new Predictor({ account, storage }));
  const trainer = () => opened(new Trainer({ account, storage }));
  const notAsIn = (example: string, found: string) =>
    `give the options as an object, as in \`${example}\`, not ${found}`;

  it.each([
    ['predict', model, ['good', signal], notAsIn('{ signal }', 'an AbortSignal')],
    ['predict', model, ['good', null], notAsIn('{ signal }', 'null')],
    ['predict', model, [['good'], signal], notAsIn('{ inFlight }', 'an AbortSignal')],
    ['predict', model, ['good', { signal: 5 }], 'signal: give an AbortSignal'],
    ['predict', model, ['good', { inFlight: 2 }], /^unknown "inFlight"/],
    ['predict', model, ['good', { label: 'positive' }], /^unknown "label"/],
    ['explain', model, ['good', 'positive'], notAsIn('{ signal }', 'a string')],
    ['evaluate', model, [rows, 'text'], notAsIn('evaluate(rows, { positive })', 'a string')],
    ['search', index, ['one', 3], notAsIn('{ k }', 'a number')],
    ['add', index, [['one'], signal], notAsIn('{ signal }', 'an AbortSignal')],
    ['save', index, [], 'folder: give a path'],
    ['predictPretrained', predictor, ['sentiment-classification', 'good', null], notAsIn('{ signal }', 'null')],
    ['warm', predictor, ['sentiment-classification'], 'model_names: give an array, not a string'],
    ['warm', predictor, [[], { deadlineMs: 5 }], 'unknown "deadlineMs"; use `signal`'],
    ['warmCustom', predictor, [], 'model_ids: missing; give an array'],
    ['warm', () => opened(new Medley({ account })), [], 'model_names: missing; give an array'],
    ['createTrainingJob', trainer, [{}, null], notAsIn('{ idempotencyKey }', 'null')],
    ['createTrainingJob', trainer, [{}, { idempotencykey: 'a' }], /did you mean `idempotencyKey`\?$/],
    ['waitForTrainingJob', trainer, ['id', { timeoutMs: 5 }], 'unknown "timeoutMs"; use `signal`'],
    ['listUnusedModels', trainer, [7], notAsIn('{ days }', 'a number')],
  ] as const)('%s refuses options that it would ignore', async (method, make, given, message) => {
    const target = await make();
    const result: unknown = await Reflect.apply(Reflect.get(target, method), target, given);
    const told = typeof message === 'string' ? message : expect.stringMatching(message);
    expect(result).toMatchObject({ error: { code: 'validation', message: told } });
  });

  it('as a stream, too', async () => {
    const target = await model();
    const answers: AsyncGenerator<unknown> = Reflect.apply(target.predict, target, [['good'].values(), signal]);
    const { value } = await answers.next();
    expect(value).toMatchObject({ error: { message: notAsIn('{ inFlight }', 'an AbortSignal') } });
  });
});

it.each([
  [eraseAccount, { storage: memoryStorage(), app_id: 'a', dryRun: true }, 'unknown "dryRun"'],
  [listUnusedModels, { storage: memoryStorage(), day: 5 }, 'did you mean `days`?'],
  [listUnusedModels, {}, "pass a storage, such as fileStorage('./models')"],
])('%o refuses options that it would ignore', async (call, given, message) => {
  const result: unknown = await Reflect.apply(call, undefined, [given]);
  expect(result).toMatchObject({ error: { code: 'validation', message: expect.stringContaining(message) } });
});
