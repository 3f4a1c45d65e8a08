import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { StorageError, ValidationError } from '../../src/contract/errors.js';
import { type DownloadOptions, download, NetworkFailure } from '../../src/system/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { serve, serveInTurn } from './serve.js';

const content = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join('');
const changed = content.toUpperCase();
const half = content.length / 2;

type Headers = Record<string, string | number>;

/** Sends all of it, whatever range is asked for. */
const whole =
  (body = content, headers: Headers = {}): RequestListener =>
  (_, response) =>
    response.writeHead(200, { 'content-length': body.length, ...headers }).end(body);

/** Sends half of it, and breaks off as soon as that half has arrived. */
function aBreak(headers: Headers = {}) {
  let broken: ServerResponse | undefined;
  const listener: RequestListener = (_, response) => {
    broken = response;
    response.writeHead(200, { 'content-length': content.length, ...headers }).write(content.slice(0, half));
  };
  const onProgress: DownloadOptions['onProgress'] = ({ receivedBytes }) => {
    if (receivedBytes === half) broken?.destroy();
  };
  return { listener, onProgress };
}

/** Sends the rest from `start` on as a part. */
const rest =
  (start = half, body = content, headers: Headers = {}): RequestListener =>
  (_, response) =>
    response
      .writeHead(206, { 'content-range': `bytes ${start}-${body.length - 1}/${body.length}`, ...headers })
      .end(body.slice(start));

/** A download into a new directory, with little patience. */
function aDownload(url: URL, options: Partial<DownloadOptions> = {}) {
  const file = join(temporaryDirectory(), 'file');
  const saved = () => readFileSync(file, 'utf8');
  const started = () => download({ url, file, maxBytes: 1e6, retryPauseMs: 1, ...options });
  const failed = async (): Promise<unknown> =>
    started().then(
      () => expect.fail('it goes through'),
      (thrown) => thrown,
    );
  return { file, saved, started, failed };
}

describe('a download that breaks off', () => {
  it('resumes where it was, if the file is the same', async () => {
    const { listener, onProgress } = aBreak({ etag: '"one"' });
    const { url, asked } = await serveInTurn(listener, rest(half, content, { etag: '"one"' }));
    const { saved, started } = aDownload(url, { onProgress });
    expect(await started()).toBe(content.length);
    expect(saved()).toBe(content);
    expect(asked.map(({ range }) => range)).toEqual([undefined, `bytes=${half}-`]);
    expect(asked[1]).toMatchObject({ 'if-range': '"one"' });
  });

  it.each<[string, RequestListener[]]>([
    ['whose file has changed', [whole(changed, { etag: '"two"' })]],
    ['that does not support ranges', [whole(changed)]],
    [
      'that sends a part of a changed file',
      [rest(half, changed, { etag: '"two"' }), whole(changed, { etag: '"two"' })],
    ],
    ['that sends a part of a file of another size', [rest(half, `${changed}!`), whole(changed)]],
    ['that has no such part', [(_, response) => response.writeHead(416).end(), whole(changed)]],
  ])('starts anew with a server %s', async (_, listeners) => {
    const { listener, onProgress } = aBreak({ etag: '"one"' });
    const { url, asked } = await serveInTurn(listener, ...listeners);
    const { saved, started } = aDownload(url, { onProgress });
    await started();
    expect(saved()).toBe(changed);
    expect(asked[1]).toMatchObject({ range: `bytes=${half}-` });
  });

  it('is not fooled by a part from elsewhere in the file', async () => {
    const { listener, onProgress } = aBreak({ etag: '"one"' });
    const { url } = await serveInTurn(listener, rest(half - 10), rest());
    const { saved, started } = aDownload(url, { onProgress });
    await started();
    expect(saved()).toBe(content);
  });

  it.each([
    ['no version', {}],
    ['a version that stands for several contents', { etag: 'W/"one"' }],
  ])('starts anew with a server that names %s', async (_, headers) => {
    const { listener, onProgress } = aBreak(headers);
    const { url, asked } = await serveInTurn(listener, whole());
    const { saved, started } = aDownload(url, { onProgress });
    await started();
    expect(saved()).toBe(content);
    expect(asked[1]).not.toHaveProperty('range');
  });

  it('is retried as long as every attempt makes progress', async () => {
    const part = Math.ceil(content.length / 8);
    const { url, asked } = await serveInTurn(({ headers: { range = 'bytes=0-' } }, response) => {
      const start = Number(range.slice('bytes='.length, -1));
      const piece = content.slice(start, start + part);
      const bytes = `bytes ${start}-${start + piece.length - 1}/${content.length}`;
      response.writeHead(206, { etag: '"one"', 'content-range': bytes }).end(piece);
    });
    const { saved, started } = aDownload(url, { retries: 1 });
    await started();
    expect(saved()).toBe(content);
    expect(asked).toHaveLength(8);
  });

  it('fails after the allowed number of retries without progress, and leaves no file', async () => {
    const { url, asked } = await serveInTurn((_, response) => response.destroy());
    const { file, failed } = aDownload(url, { retries: 3 });
    expect(await failed()).toMatchObject({ message: expect.stringContaining('closed the connection') });
    expect(asked).toHaveLength(1 + 3);
    expect(existsSync(file)).toBe(false);
  });
});

describe('a download whose bytes are checked afterwards', () => {
  it('leaves its part for the next one, which asks only for the rest', async () => {
    const { listener, onProgress } = aBreak();
    const { url, asked } = await serveInTurn(listener, rest());
    const { saved, failed, started } = aDownload(url, { onProgress, keepsPart: true, retries: 0 });
    await failed();
    expect(saved()).toBe(content.slice(0, half));
    await started();
    expect(saved()).toBe(content);
    expect(asked[1]).toMatchObject({ range: `bytes=${half}-` });
  });

  it('fetches nothing if the file is complete', async () => {
    const { file, started } = aDownload(new URL('http://127.0.0.1:9/'), {
      keepsPart: true,
      expectedBytes: content.length,
    });
    writeFileSync(file, content);
    expect(await started()).toBe(content.length);
  });

  it('starts anew if the part is larger than the whole', async () => {
    const { url, asked } = await serveInTurn(whole());
    const { file, saved, started } = aDownload(url, { keepsPart: true, maxBytes: content.length });
    writeFileSync(file, `${content}!`);
    await started();
    expect(saved()).toBe(content);
    expect(asked[0]).not.toHaveProperty('range');
  });

  it('leaves nothing of a file that is too large', async () => {
    const { url } = await serveInTurn((_, response) => response.end(content));
    const { file, failed } = aDownload(url, { keepsPart: true, maxBytes: half });
    expect(await failed()).toMatchObject({ isTooLarge: true });
    expect(existsSync(file)).toBe(false);
  });
});

describe('a download', () => {
  it('replaces what is there, also of the same size', async () => {
    const { url } = await serveInTurn(whole());
    for (const options of [{}, { expectedBytes: content.length }]) {
      const { file, saved, started } = aDownload(url, options);
      writeFileSync(file, changed);
      await started();
      expect(saved()).toBe(content);
    }
  });

  it('accepts a file that the server compresses although it was asked not to', async () => {
    const { url } = await serveInTurn((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(content)),
    );
    const totals = new Set<number | undefined>();
    const { saved, started } = aDownload(url, { onProgress: ({ totalBytes }) => totals.add(totalBytes) });
    await started();
    expect(saved()).toBe(content);
    expect(totals).toEqual(new Set([undefined]));
  });

  it('tells its progress, in bytes of the whole', async () => {
    const { url } = await serveInTurn(whole());
    const told: unknown[] = [];
    await aDownload(url, { onProgress: (progress) => told.push(progress) }).started();
    expect(told.at(-1)).toEqual({ receivedBytes: content.length, totalBytes: content.length });
  });

  it('may have as many bytes as are allowed, and not one more, announced or not', async () => {
    const { url } = await serveInTurn(whole());
    expect(await aDownload(url, { maxBytes: content.length }).started()).toBe(content.length);
    const unannounced = await serveInTurn((_, response) => response.write(content, () => response.end()));
    for (const each of [url, unannounced.url]) {
      const { file, failed } = aDownload(each, { maxBytes: content.length - 1 });
      expect(await failed()).toMatchObject({
        ...{ isTooLarge: true, isTransient: false, message: `the file is larger than ${content.length - 1} bytes` },
      });
      expect(existsSync(file)).toBe(false);
    }
  });

  it('takes a part for the whole only if that is where it starts', async () => {
    const { url, asked } = await serveInTurn((_, response) => response.writeHead(206).end(content), whole());
    const { saved, started } = aDownload(url);
    await started();
    expect(saved()).toBe(content);
    expect(asked).toHaveLength(2);
  });

  it('that can not be had from the start is not asked for again and again', async () => {
    const { url, asked } = await serveInTurn((_, response) => response.writeHead(416).end());
    expect(await aDownload(url).failed()).toMatchObject({ status: 416 });
    expect(asked).toHaveLength(1);
  });

  it('has a time limit, pauses included', async () => {
    const { url, asked } = await serveInTurn((_, response) => response.writeHead(503).end());
    const { failed } = aDownload(url, { timeoutMs: 200, retryPauseMs: 60_000 });
    expect(await failed()).toMatchObject({ message: 'the download took longer than 0.2 s' });
    expect(asked).toHaveLength(1);
  });

  it('does not start if the signal has fired', async () => {
    const reason = new Error('too late');
    const { failed } = aDownload(new URL('http://127.0.0.1:9/'), { signal: AbortSignal.abort(reason) });
    expect(await failed()).toBe(reason);
  });

  it('names the file that it can not write, and does not ask again', async () => {
    const { url, asked } = await serveInTurn(whole());
    const file = join(temporaryDirectory(), 'absent', 'file');
    const failure = await aDownload(url, { file }).failed();
    expect(failure).toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({ message: expect.stringContaining(`saving ${file}: ENOENT`) });
    expect(asked).toHaveLength(1);
  });

  it('passes on what its callbacks throw, and does not ask again', async () => {
    const refusal = new ValidationError([{ loc: ['url'], msg: 'not this one', type: 'refused' }]);
    const url = new URL('http://127.0.0.1:9/');
    expect(await aDownload(url, { fetch: () => Promise.reject(refusal) }).failed()).toBe(refusal);
    const defect = new Error('a defect');
    const base = await serve(whole());
    const onProgress = () => {
      throw defect;
    };
    const { file, failed } = aDownload(new URL(base), { onProgress });
    expect(await failed()).toBe(defect);
    expect(existsSync(file)).toBe(false);
  });

  it('fails if the server sends fewer bytes than the file has', async () => {
    const { url, asked } = await serveInTurn(whole());
    const failure = await aDownload(url, { expectedBytes: content.length + 1, retries: 1 }).failed();
    expect(failure).toBeInstanceOf(NetworkFailure);
    expect(failure).toMatchObject({
      message: `the server sent ${content.length} of ${content.length + 1} bytes`,
    });
    expect(asked).toHaveLength(2);
  });
});
