import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aHub, failureOf, fetches, loadedWeights, MODEL, weights } from './a-hub.js';
import { sha256, TOKEN } from './fake-hub.js';

describe('the cache of hubModels', () => {
  it('has the layout of huggingface_hub', async () => {
    const setting = await aHub();
    const { directory, revision = '' } = await setting.load();
    const root = join(setting.cache, 'models--orchard--tiny');
    expect(directory).toBe(join(root, 'snapshots', revision));
    expect(readFileSync(join(root, 'refs', 'main'), 'utf8')).toBe(revision);
    expect(readFileSync(join(root, 'blobs', sha256(weights)), 'utf8')).toBe(weights);
    expect(readdirSync(join(root, 'blobs'))).toHaveLength(2);
    if (process.platform !== 'win32') {
      expect(lstatSync(join(directory, 'config.json')).isSymbolicLink()).toBe(true);
    }
    expect(readdirSync(join(setting.cache, '.locks', 'models--orchard--tiny'))).toEqual([]);
  });

  it('downloads only the list of files again', async () => {
    const setting = await aHub();
    await setting.load();
    const before = setting.hub.visits.length;
    expect(loadedWeights(await setting.load())).toBe(weights);
    expect(setting.hub.visits.length).toBe(before + 1);
  });

  it('uses what huggingface_hub has downloaded', async () => {
    const setting = await aHub();
    const blobs = join(setting.cache, 'models--orchard--tiny', 'blobs');
    mkdirSync(blobs, { recursive: true });
    writeFileSync(join(blobs, sha256(weights)), weights);
    await setting.load();
    expect(fetches(setting.hub)).toEqual([]);
  });

  it('replaces a file that was cut short', async () => {
    const setting = await aHub();
    const blobs = join(setting.cache, 'models--orchard--tiny', 'blobs');
    mkdirSync(blobs, { recursive: true });
    writeFileSync(join(blobs, sha256(weights)), 'weight');
    expect(loadedWeights(await setting.load())).toBe(weights);
  });

  it('follows a branch to its new commit, keeps the old one, and pins a commit', async () => {
    const setting = await aHub();
    const old = await setting.load();
    const commit = setting.hub.publish(MODEL, { 'config.json': '{ "new": true }' });
    const renewed = await setting.load();
    expect(renewed.revision).toBe(commit);
    expect(readFileSync(join(renewed.directory, 'config.json'), 'utf8')).toBe('{ "new": true }');
    expect(existsSync(join(renewed.directory, 'model.safetensors'))).toBe(false);
    expect(await setting.load({ name: `${MODEL}@${old.revision}` })).toEqual(old);
    expect(await setting.load({ hub: { revision: old.revision ?? '' } })).toEqual(old);
  });
});

describe('offline mode', () => {
  it('loads from the cache without a request', async () => {
    const setting = await aHub();
    const loaded = await setting.load();
    const before = setting.hub.visits.length;
    expect(await setting.load({ hub: { offline: true } })).toEqual(loaded);
    const pinned = await setting.load({ name: `${MODEL}@${loaded.revision}`, hub: { offline: true } });
    expect(pinned).toEqual(loaded);
    expect(setting.hub.visits.length).toBe(before);
  });

  it('says what is not there and how to get it', async () => {
    const setting = await aHub();
    const error = await failureOf(setting.load({ hub: { offline: true } }));
    expect(error.code).toBe('not_found');
    expect(error.message).toContain(MODEL);
    expect(error.message).toContain(setting.cache);
    expect(error.message).toContain('`offline: false`');
  });
});

describe('a refusal', () => {
  it.each([
    [401, {}, 'set HF_TOKEN (or `token` of hubModels)'],
    [401, { token: TOKEN }, 'rejects the token'],
    [403, { token: TOKEN }, `request access at http`],
    [429, {}, 'too many requests (429)'],
    [500, {}, 'the server answered 500'],
    [418, {}, 'the server answered 418'],
  ])('with status %i says what to do (%j)', async (status, options, advice) => {
    const setting = await aHub();
    setting.hub.interfere((_, response) => Boolean(response.writeHead(status).end()));
    const error = await failureOf(setting.load({ hub: { ...options, retries: 1 } }));
    expect(error).toMatchObject({ code: 'model_download', status, model: MODEL });
    expect(error.message).toContain(advice);
    expect(error.message).toContain(setting.hub.endpoint);
    expect(error.message).not.toContain(TOKEN);
  });

  it('of a model or a revision that does not exist is a NotFoundError', async () => {
    const setting = await aHub();
    const absent = await failureOf(setting.load({ name: 'orchard/absent' }));
    expect(absent.code).toBe('not_found');
    expect(absent.message).toContain(`${setting.hub.endpoint} has no such model`);
    const revision = await failureOf(setting.load({ name: `${MODEL}@v9` }));
    expect(revision.message).toContain('no revision v9');
  });

  it('of a file names it', async () => {
    const setting = await aHub();
    setting.hub.interfere(({ host }, response) => {
      if (host === 'files') response.writeHead(403).end();
      return host === 'files';
    });
    const error = await failureOf(setting.load());
    expect(error).toMatchObject({ code: 'model_download', file: 'model.safetensors', status: 403 });
  });
});

describe('the token', () => {
  it('goes to the endpoint and not to where it redirects', async () => {
    const setting = await aHub();
    await setting.load({ hub: { token: TOKEN } });
    const seen = (host: string) =>
      new Set(setting.hub.visits.flatMap((visit) => (visit.host === host ? [visit.authorization] : [])));
    expect(seen('hub')).toEqual(new Set([`Bearer ${TOKEN}`]));
    expect(seen('files')).toEqual(new Set([undefined]));
  });

  it('is not needed', async () => {
    const setting = await aHub();
    await setting.load({ hub: { fetch: (url, init) => fetch(url, init) } });
    expect(new Set(setting.hub.visits.map(({ authorization }) => authorization))).toEqual(new Set([undefined]));
  });
});

describe('redirects', () => {
  it('are followed five times and no more', async () => {
    const setting = await aHub();
    setting.hub.interfere(({ path }, response) => {
      response.writeHead(307, { location: `${path}x` }).end();
      return true;
    });
    const error = await failureOf(setting.load());
    expect(error.message).toContain('more than 5 redirects');
    expect(setting.hub.visits).toHaveLength(6);
  });

  it('lead to http and https only', async () => {
    const setting = await aHub();
    setting.hub.interfere((_, response) => Boolean(response.writeHead(302, { location: 'file:///etc/passwd' }).end()));
    expect((await failureOf(setting.load())).message).toContain('not an http or https URL');
  });
});
