import { describe, expect, it } from 'vitest';
import { MAX_VERSION_CHANGES } from '../../src/contract/index.js';
import { VersionNames, VersionRecords } from '../../src/jobs/version-records.js';
import { failureOf } from '../support/outcomes.js';
import { aMemoryStorage } from './builders.js';
import { app_id, idOf } from './some-jobs.js';
import { bound } from './storages.js';

const model = (n: number) => ({ id: idOf(n), type: 'binary-text-classification' }) as const;
const change = (n: number) => ({ action: 'promote', model_id: idOf(n), from: null, at: 'now' }) as const;
const pointed = (...models: readonly number[]) => ({ models: models.map(model), history: models.map(change) });
const shadow = (n: number) => ({ model: model(n), run: 'token', since: 'now' });

describe('the names of an account', () => {
  it('need the models that they point to, those before them, and shadows', async () => {
    const records = new VersionRecords(aMemoryStorage(), app_id);
    expect(await records.neededModels()).toEqual(new Set());
    const names = { 'a@x': pointed(1, 2, 3), 'b@x': { ...pointed(4), shadow: shadow(5) } };
    await records.update(async (record) => ({ ...record, names }));
    expect(await records.neededModels()).toEqual(new Set([2, 3, 4, 5].map(idOf)));
  });

  it('keep a model from its deletion that they point to now or compare, and say which they are', async () => {
    const records = new VersionRecords(aMemoryStorage(), app_id);
    const names = { 'z@x': pointed(2, 1), 'b@x': { ...pointed(3), shadow: shadow(1) }, 'c@x': pointed(1, 3) };
    await records.update(async (record) => ({ ...record, names }));
    const error = await failureOf('model_in_use', () => records.beginDeletion(idOf(1)));
    expect(error).toMatchObject({ names: ['b@x', 'z@x'] });
    await records.beginDeletion(idOf(2));
    await records.beginDeletion(idOf(2));
    await records.beginDeletion(idOf(4));
    expect((await records.read()).deleting).toEqual([idOf(2), idOf(4)]);
    await records.endDeletion(idOf(2));
    await records.endDeletion(idOf(9));
    expect(await records.read()).toEqual({ names, deleting: [idOf(4)] });
  });

  it('go one by one', async () => {
    const records = new VersionRecords(aMemoryStorage(), app_id);
    const names = { 'a@x': pointed(1), 'b@x': pointed(2) };
    await records.update(async (record) => ({ ...record, names }));
    await records.removeName('a@x');
    await records.removeName('a@x');
    expect((await records.read()).names).toEqual({ 'b@x': names['b@x'] });
  });

  it('are written only if something changes', async () => {
    const storage = aMemoryStorage();
    const through = bound(storage);
    let writes = 0;
    through.write = (...args) => {
      writes += 1;
      return storage.write(...args);
    };
    const records = new VersionRecords(through, app_id);
    await records.removeName('a@x');
    await records.endDeletion(idOf(1));
    expect(writes).toBe(0);
    await records.beginDeletion(idOf(1));
    await records.beginDeletion(idOf(1));
    expect(writes).toBe(1);
  });

  it('say that they could not be written if their version keeps changing, and why if it is something else', async () => {
    const storage = aMemoryStorage();
    const through = bound(storage);
    let writes = 0;
    through.write = (collection, key, value) => {
      writes += 1;
      return storage.write(collection, key, value, 'an old version');
    };
    const records = new VersionRecords(through, app_id);
    const error = await failureOf('storage', () => records.beginDeletion(idOf(1)));
    expect(error.message).toContain(`versions/${app_id} could not be written`);
    expect(writes).toBe(100);
    through.write = () => Promise.reject(new Error('no space'));
    expect((await failureOf('storage', () => records.beginDeletion(idOf(1)))).message).toBe('no space');
  });

  it.each<[string, unknown]>([
    ['no model', { names: { 'a@x': { models: [], history: [] } }, deleting: [] }],
    [
      'too many models',
      { names: { 'a@x': pointed(...Array.from({ length: MAX_VERSION_CHANGES + 1 }, (_, n) => n)) }, deleting: [] },
    ],
    [
      'an unknown action',
      { names: { 'a@x': { models: [model(1)], history: [{ ...change(1), action: 'x' }] } }, deleting: [] },
    ],
    ['half a shadow', { names: { 'a@x': { ...pointed(1), shadow: { model: model(2) } } }, deleting: [] }],
    ['no deletions', { names: {} }],
  ])('are damaged with %s', async (_, value) => {
    const storage = aMemoryStorage();
    await storage.write('versions', app_id, JSON.parse(JSON.stringify(value)), undefined);
    const { message } = await failureOf('storage', () => new VersionRecords(storage, app_id).read());
    expect(message).toContain(`versions/${app_id} is damaged`);
  });

  it.each(['constructor', '__proto__', 'toString'])('are not found on every object: %s', async (name) => {
    const storage = aMemoryStorage();
    const { message } = await failureOf('not_found', () => new VersionNames(storage, app_id).read(name));
    expect(message).toContain('promote a model first');
    await new VersionRecords(storage, app_id).update(async (record) => ({
      ...record,
      names: { 'b@x': { ...pointed(1, 2), shadow: shadow(3) }, 'a@x': pointed(1) },
    }));
    const names = new VersionNames(storage, app_id);
    expect((await failureOf('not_found', () => names.read(name))).message).toContain('the account has a@x, b@x');
    expect(await names.read('b@x')).toEqual({ model: model(2), shadow: shadow(3) });
    expect(await names.read('a@x')).toEqual({ model: model(1) });
  });
});
