import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { LoadOptions } from '../../src/models/index.js';
import { anEndedName } from '../support/ended-process.js';
import { aHub, failureOf, fetches, loadedWeights, MODEL, type Setting, weights } from './a-hub.js';
import { sendRange, sha256 } from './fake-hub.js';

const HALF = Math.floor(weights.length / 2);

/** Sends half of the weights and breaks off once some have arrived. @returns what tells it so. */
function breakOffOnce({ hub }: Setting): { readonly onProgress: NonNullable<LoadOptions['onProgress']> } {
  let broken: ServerResponse | undefined;
  hub.interfere(({ host }, response) => {
    if (host !== 'files' || broken !== undefined) return false;
    broken = response;
    response.writeHead(200, { 'content-length': weights.length }).write(weights.slice(0, HALF));
    return true;
  });
  return { onProgress: ({ file }) => file === 'model.safetensors' && broken?.destroy() };
}

describe('a download that breaks off', () => {
  it('resumes where it was', async () => {
    const setting = await aHub();
    expect(loadedWeights(await setting.load(breakOffOnce(setting)))).toBe(weights);
    const ranges = fetches(setting.hub).map(({ range }) => range);
    expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=[1-9]\d*-$/)]);
  });

  it('resumes at the next call', async () => {
    const setting = await aHub();
    const error = await failureOf(setting.load({ ...breakOffOnce(setting), hub: { retries: 0 } }));
    expect(error.code).toBe('model_download');
    expect(loadedWeights(await setting.load())).toBe(weights);
    expect(fetches(setting.hub).at(-1)?.range).toMatch(/^bytes=[1-9]/);
  });

  it('starts anew with a server that does not support ranges', async () => {
    const setting = await aHub();
    await failureOf(setting.load({ ...breakOffOnce(setting), hub: { retries: 0 } }));
    setting.hub.interfere(({ host }, response) => {
      if (host === 'files') response.writeHead(200).end(weights);
      return host === 'files';
    });
    expect(loadedWeights(await setting.load())).toBe(weights);
  });

  it('fails after the allowed number of retries without progress', async () => {
    const setting = await aHub();
    setting.hub.interfere(({ host }, response) => Boolean(host === 'files' && response.destroy()));
    const error = await failureOf(setting.load({ hub: { retries: 3 } }));
    expect(error).toMatchObject({ code: 'model_download', model: MODEL, file: 'model.safetensors' });
    expect(error.message).toContain('model.safetensors');
    expect(error.message).toContain(`${setting.hub.endpoint}/${MODEL}/resolve/`);
    expect(fetches(setting.hub)).toHaveLength(1 + 3);
  });

  it('is retried as long as every attempt makes progress', async () => {
    const setting = await aHub();
    const part = Math.ceil(weights.length / 8);
    setting.hub.interfere(({ host, range = 'bytes=0-' }, response) => {
      if (host !== 'files') return false;
      const start = Number(range.slice('bytes='.length, -1));
      const piece = weights.slice(start, start + part);
      const headers = { 'content-range': `bytes ${start}-${start + piece.length - 1}/${weights.length}` };
      response.writeHead(206, headers).end(piece);
      return true;
    });
    expect(loadedWeights(await setting.load({ hub: { retries: 1 } }))).toBe(weights);
    expect(fetches(setting.hub)).toHaveLength(8);
  });

  it('starts anew if the rest is of another file', async () => {
    const setting = await aHub();
    const blobs = join(setting.cache, 'models--orchard--tiny', 'blobs');
    mkdirSync(blobs, { recursive: true });
    const partial = `${sha256(weights)}.orchard.incomplete`;
    writeFileSync(join(blobs, partial), 'other weights');
    expect(loadedWeights(await setting.load())).toBe(weights);
    expect(readdirSync(blobs)).not.toContain(partial);
  });
});

describe('an unreliable server', () => {
  it('is asked again after it has sent nothing for a while', async () => {
    const setting = await aHub();
    let stalls = 1;
    setting.hub.interfere(({ host }, response) => {
      if (host !== 'files' || stalls === 0) return false;
      stalls -= 1;
      response.writeHead(200, { 'content-length': weights.length });
      response.write(weights.slice(0, HALF));
      return true;
    });
    expect(loadedWeights(await setting.load({ hub: { stallTimeoutMs: 200 } }))).toBe(weights);
    expect(fetches(setting.hub)).toHaveLength(2);
  });

  it('is named, with a way out, if it never answers', async () => {
    const setting = await aHub();
    setting.hub.interfere(() => true);
    const error = await failureOf(setting.load({ hub: { stallTimeoutMs: 50, retries: 1 } }));
    expect(error.code).toBe('model_download');
    expect(error.message).toContain('sent nothing for 0.05 s');
    expect(error.message).toContain('offline: true');
    expect(error.message).toContain(setting.hub.endpoint);
  });

  it.each([
    ['other bytes of the same length', weights.toUpperCase()],
    ['more bytes than it announced', `${weights}!`],
    ['fewer bytes', weights.slice(0, HALF)],
  ])('is not believed when it sends %s', async (_, sent) => {
    const setting = await aHub();
    setting.hub.interfere(({ host }, response, request) => {
      if (host === 'files') sendRange(sent, request, response);
      return host === 'files';
    });
    const error = await failureOf(setting.load());
    expect(error).toMatchObject({ code: 'model_download', file: 'model.safetensors' });
    const blobs = readdirSync(join(setting.cache, 'models--orchard--tiny', 'blobs'));
    expect(blobs).not.toContain(sha256(weights));
    expect(existsSync(join(setting.cache, 'models--orchard--tiny', 'snapshots'))).toBe(false);
  });

  it('is given a second chance after wrong bytes', async () => {
    const setting = await aHub();
    let lies = 1;
    setting.hub.interfere(({ host }, response) => {
      if (host !== 'files' || lies === 0) return false;
      lies -= 1;
      response.end(weights.toUpperCase());
      return true;
    });
    expect(loadedWeights(await setting.load())).toBe(weights);
  });

  it.each([500, 503, 429])('is asked again after a %i, after the time in Retry-After', async (status) => {
    const setting = await aHub();
    let refusals = 2;
    setting.hub.interfere((_, response) => {
      if (refusals === 0) return false;
      refusals -= 1;
      response.writeHead(status, { 'retry-after': '0' }).end();
      return true;
    });
    expect(loadedWeights(await setting.load())).toBe(weights);
  });

  it.each([
    ['a path that leads out', { sha: 'a'.repeat(40), siblings: [file('../../evil')] }],
    ['an absolute path', { sha: 'a'.repeat(40), siblings: [file('/etc/evil')] }],
    ['a hash that leads out', { sha: 'a'.repeat(40), siblings: [{ ...file('x'), blobId: '../../evil' }] }],
    ['a commit that leads out', { sha: '../evil', siblings: [] }],
    ['something else', { hello: 'world' }],
  ])('leads to no files if it lists %s', async (_, answer) => {
    const setting = await aHub();
    setting.hub.interfere((_, response) => Boolean(response.end(JSON.stringify(answer))));
    const error = await failureOf(setting.load());
    expect(error.code).toBe('model_download');
    expect(error.message).toContain('not a response from the Hugging Face Hub');
    expect(readdirSync(setting.cache)).toEqual([]);
  });
});

const file = (rfilename: string) => ({ rfilename, size: 4, blobId: 'b'.repeat(40) });

describe('concurrent calls', () => {
  it('share one download', async () => {
    const setting = await aHub();
    const loaded = await Promise.all(Array.from({ length: 5 }, () => setting.load()));
    for (const each of loaded) expect(loadedWeights(each)).toBe(weights);
    expect(fetches(setting.hub)).toHaveLength(1);
  });

  it('succeed though one of them is aborted', async () => {
    const setting = await aHub();
    const impatient = new AbortController();
    setting.hub.interfere(({ host }) => {
      if (host === 'files') impatient.abort();
      return false;
    });
    const calls = [setting.load({ signal: impatient.signal }), setting.load(), setting.load()];
    const [first, ...others] = await Promise.allSettled(calls);
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'aborted' } });
    for (const other of others) expect(other.status).toBe('fulfilled');
    expect(loadedWeights(await setting.load())).toBe(weights);
  });

  it('of two processes share one download', async () => {
    const setting = await aHub();
    const script = fileURLToPath(new URL('processes/load-model.ts', import.meta.url));
    const runs = [1, 2].map(() => {
      const child = spawn(process.execPath, ['--import', 'tsx', script, setting.hub.endpoint, setting.cache, MODEL], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      return json(child.stdout);
    });
    const [one, two] = await Promise.all(runs);
    expect(one).toEqual(two);
    expect(one).toEqual(await setting.load());
    expect(fetches(setting.hub)).toHaveLength(1);
  });

  it('do not wait for a process that died while it downloaded', async () => {
    const setting = await aHub();
    const locks = join(setting.cache, '.locks', 'models--orchard--tiny');
    mkdirSync(locks, { recursive: true });
    writeFileSync(join(locks, `${sha256(weights)}.orchard.lock`), anEndedName());
    expect(loadedWeights(await setting.load())).toBe(weights);
  });
});

describe('a signal', () => {
  it('stops a download and keeps what has arrived for the next one', async () => {
    const setting = await aHub();
    const stop = new AbortController();
    setting.hub.interfere(({ host }, response) => {
      if (host !== 'files') return false;
      response.writeHead(200, { 'content-length': weights.length });
      response.write(weights.slice(0, HALF));
      return true;
    });
    const onProgress = ({ file }: { readonly file: string }) => {
      if (file === 'model.safetensors') stop.abort();
    };
    expect((await failureOf(setting.load({ signal: stop.signal, onProgress }))).code).toBe('aborted');
    setting.hub.interfere(() => false);
    expect(loadedWeights(await setting.load())).toBe(weights);
    expect(fetches(setting.hub).at(-1)?.range).toMatch(/^bytes=[1-9]/);
  });

  it('ends the pause before a retry', async () => {
    const setting = await aHub();
    const stop = new AbortController();
    setting.hub.interfere((_, response) => {
      response.writeHead(503).end(() => stop.abort());
      return true;
    });
    const error = await failureOf(setting.load({ signal: stop.signal, hub: { retryPauseMs: 60_000 } }));
    expect(error.code).toBe('aborted');
  });
});
