import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type FetchDatasetOptions, fetchDataset } from '../../src/datasets/index.js';
import { ValidationError } from '../../src/errors.js';
import { anArchive } from '../support/archive-builder.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const zip = await anArchive().zipped();

/** Serves on a free port of this machine until the test ends; gives the base URL. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${await freePort(server)}`;
}

async function freePort(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

/** Fetches into a new directory; gives both. */
async function fetched(url: string, options: Partial<FetchDatasetOptions> = {}) {
  const directory = join(temporaryDirectory(), 'downloads');
  return { directory, result: await fetchDataset(url, { directory, ...options }) };
}

describe('fetchDataset over http', () => {
  it('saves the zip and tells how far it is', async () => {
    const base = await serve((_, response) => response.end(zip));
    const received: number[] = [];
    const { directory, result } = await fetched(`${base}/data/reviews.zip?v=2`, {
      onProgress: ({ receivedBytes, totalBytes }) => received.push(receivedBytes, totalBytes ?? -1),
    });
    const path = join(directory, 'dataset.zip');
    expect(result._unsafeUnwrap()).toEqual({ kind: 'zip', path, name: 'reviews.zip', bytes: zip.length });
    expect(readFileSync(path)).toEqual(zip);
    expect(received.slice(-2)).toEqual([zip.length, zip.length]);
  });

  it('replaces what a crash left of an earlier download', async () => {
    const base = await serve((_, response) => response.end(zip));
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'dataset.zip'), Buffer.concat([zip, zip]));
    expect((await fetchDataset(base, { directory })).isOk()).toBe(true);
    expect(readFileSync(join(directory, 'dataset.zip'))).toEqual(zip);
  });

  it('follows redirects, relative ones too', async () => {
    const base = await serve(({ url }, response) => {
      if (url === '/zip') response.end(zip);
      else response.writeHead(302, { location: url === '/moved' ? '/zip' : `${base}/moved` }).end();
    });
    const { result } = await fetched(`${base}/first`);
    expect(result._unsafeUnwrap()).toMatchObject({ kind: 'zip', bytes: zip.length });
  });

  it('follows five redirects and no more', async () => {
    const base = await serve(({ url }, response) => {
      const left = Number(url?.slice(1));
      if (left === 0) response.end(zip);
      else response.writeHead(307, { location: `/${left - 1}` }).end();
    });
    expect((await fetched(`${base}/5`)).result.isOk()).toBe(true);
    const { result } = await fetched(`${base}/6`);
    expect(result._unsafeUnwrapErr().message).toBe(`dataset_url ${base}/6: more than 5 redirects`);
  });

  it('follows a redirect to http and https only, even where file URLs are allowed', async () => {
    const base = await serve((_, response) =>
      response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    );
    const { result } = await fetched(base, { allowFile: true });
    expect(result._unsafeUnwrapErr()).toMatchObject({ code: 'download', status: 302 });
  });

  it('sends every address through the fetch it is given, which may refuse', async () => {
    const base = await serve((_, response) =>
      response.writeHead(302, { location: 'http://10.0.0.1/x' }).end(),
    );
    const refusal = new ValidationError([
      { loc: ['dataset_url'], msg: 'a private address', type: 'private' },
    ]);
    const { result } = await fetched(base, {
      fetch: (url, init) => (url.hostname === '10.0.0.1' ? Promise.reject(refusal) : fetch(url, init)),
    });
    expect(result._unsafeUnwrapErr()).toBe(refusal);
  });

  it('gives the status of a refusal', async () => {
    const base = await serve((_, response) => response.writeHead(404).end('nothing here'));
    const { directory, result } = await fetched(`${base}/gone.zip`);
    expect(result._unsafeUnwrapErr()).toMatchObject({
      code: 'download',
      status: 404,
      message: `dataset_url ${base}/gone.zip: the server answered 404 Not Found`,
    });
    expect(readdirSync(directory)).toEqual([]);
  });

  it('says in words why a server is not reached', async () => {
    const server = createServer();
    const port = await freePort(server);
    await new Promise((closed) => server.close(closed));
    const { result } = await fetched(`http://127.0.0.1:${port}/reviews.zip`);
    expect(result._unsafeUnwrapErr().message).toContain('the server refused the connection (ECONNREFUSED)');
  });

  it('says that the server broke off in the middle', async () => {
    const base = await serve((_, response) => {
      response.writeHead(200, { 'content-length': zip.length });
      response.write(zip.subarray(0, 100), () => response.destroy());
    });
    const { directory, result } = await fetched(base);
    expect(result._unsafeUnwrapErr()).toMatchObject({ code: 'download' });
    expect(result._unsafeUnwrapErr().message).toContain('broke the connection off');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('gives up after the time limit', async () => {
    const base = await serve((_, response) => {
      response.write(zip.subarray(0, 10));
    });
    const { directory, result } = await fetched(base, { timeoutMs: 50 });
    expect(result._unsafeUnwrapErr().message).toContain('the download took longer than 0.05 s');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('refuses a file that is announced too large, before its body', async () => {
    const base = await serve((_, response) => {
      response.writeHead(200, { 'content-length': 5000 });
      response.flushHeaders();
    });
    const { result } = await fetched(base, { maxBytes: 4096 });
    expect(result._unsafeUnwrapErr().message).toContain('larger than the limit of 4 KiB');
  });

  it('refuses a file that turns out too large', async () => {
    const base = await serve((_, response) => {
      response.write(Buffer.alloc(3000));
      response.write(Buffer.alloc(3000));
    });
    const { directory, result } = await fetched(base, { maxBytes: 4096 });
    expect(result._unsafeUnwrapErr().message).toContain('larger than the limit of 4 KiB');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('stops when it is aborted on the way', async () => {
    const abort = new AbortController();
    const base = await serve((_, response) => {
      response.write(zip.subarray(0, 10));
    });
    const onProgress = () => abort.abort();
    const { directory, result } = await fetched(base, { signal: abort.signal, onProgress });
    expect(result._unsafeUnwrapErr().code).toBe('aborted');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('does not start when it is aborted before', async () => {
    const { result } = await fetched('http://127.0.0.1:9/', { signal: AbortSignal.abort() });
    expect(result._unsafeUnwrapErr().code).toBe('aborted');
  });

  it.each([
    ['an HTML page', '\n<!DOCTYPE html><html></html>'],
    ['an XML document', '<?xml version="1.0"?><Error>AccessDenied</Error>'],
    ['a JSON document', '{"error": "no"}'],
    ['a text file', 'sentence\tlabel\ngrüße\t1\n'],
    ['a gzip file', gzipSync('x')],
    ['a Git LFS pointer, not the file itself', 'version https://git-lfs.github.com/spec/v1\noid sha256:0'],
    ['an empty file', ''],
    ['a file of an unknown kind', Buffer.from([0, 1, 2, 3, 255])],
  ])('refuses %s', async (kind, body) => {
    const base = await serve((_, response) => response.end(body));
    const { result } = await fetched(`${base}/reviews.zip`);
    const error = result._unsafeUnwrapErr();
    expect(error.code).toBe('dataset');
    expect(error.message).toContain(`reviews.zip: found ${kind}; expected a zip archive`);
  });
});

describe('fetchDataset of a URL it does not take', () => {
  it.each([
    ['reviews.zip', 'not a URL; give an http or https URL'],
    ['ftp://example.com/reviews.zip', 'a URL of scheme ftp'],
    ['file:///reviews.zip', 'a URL of scheme file; give an http or https URL'],
    ['https://ann:secret@example.com/reviews.zip', 'holds a user name or password'],
  ])('%s: a problem at dataset_url', async (url, message) => {
    const error = (await fetched(url)).result._unsafeUnwrapErr();
    expect(error).toMatchObject({ code: 'validation', problems: [{ loc: ['dataset_url'] }] });
    expect(error.message).toContain(message);
  });
});

describe('fetchDataset of a file URL, where allowed', () => {
  it('uses a zip where it lies', async () => {
    const path = join(temporaryDirectory(), 'my reviews.zip');
    writeFileSync(path, zip);
    const { directory, result } = await fetched(pathToFileURL(path).href, { allowFile: true });
    expect(result._unsafeUnwrap()).toEqual({ kind: 'zip', path, name: 'my reviews.zip', bytes: zip.length });
    expect(() => readdirSync(directory)).toThrow('ENOENT');
  });

  it('uses a folder where it lies', async () => {
    const path = join(temporaryDirectory(), 'reviews');
    mkdirSync(path);
    const { result } = await fetched(pathToFileURL(path).href, { allowFile: true });
    expect(result._unsafeUnwrap()).toEqual({ kind: 'folder', path, name: 'reviews' });
  });

  it('says that there is no such file', async () => {
    const url = pathToFileURL(join(temporaryDirectory(), 'absent.zip')).href;
    const { result } = await fetched(url, { allowFile: true });
    expect(result._unsafeUnwrapErr().message).toBe(`dataset_url ${url}: there is no such file or folder`);
  });

  it('limits its size as that of a download', async () => {
    const path = join(temporaryDirectory(), 'reviews.zip');
    writeFileSync(path, zip);
    const { result } = await fetched(pathToFileURL(path).href, { allowFile: true, maxBytes: 100 });
    expect(result._unsafeUnwrapErr().message).toContain('larger than the limit of 100 bytes');
  });

  it('refuses what is no zip', async () => {
    const path = join(temporaryDirectory(), 'reviews.zip');
    writeFileSync(path, 'sentence\tlabel\n');
    const { result } = await fetched(pathToFileURL(path).href, { allowFile: true });
    expect(result._unsafeUnwrapErr().message).toContain('found a text file; expected a zip archive');
  });
});
