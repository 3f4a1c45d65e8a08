import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ValidationError } from '../../src/contract/errors.js';
import { type FetchDatasetOptions, fetchDataset } from '../../src/datasets/index.js';
import { anArchive } from '../support/archive-builder.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { serve, serveInTurn } from '../system/serve.js';

const zip = await anArchive().zipped();

/** A dataset to be fetched into a new directory, with little patience. */
function aDataset(url: string, options: Partial<FetchDatasetOptions> = {}) {
  const directory = join(temporaryDirectory(), 'downloads');
  return { directory, fetched: () => fetchDataset(url, { directory, retryPauseMs: 1, ...options }) };
}

/** A port of this machine at which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return typeof address === 'object' && address !== null ? address.port : expect.fail('no port');
}

describe('fetchDataset over http', () => {
  it('saves the zip and reports progress', async () => {
    const base = await serve((_, response) => response.end(zip));
    const received: number[] = [];
    const { directory, fetched } = aDataset(`${base}/data/reviews.zip?v=2`, {
      onProgress: ({ receivedBytes, totalBytes }) => received.push(receivedBytes, totalBytes ?? -1),
    });
    const path = join(directory, 'dataset.zip');
    expect(await fetched()).toEqual({ kind: 'zip', path, name: 'reviews.zip', bytes: zip.length });
    expect(readFileSync(path)).toEqual(zip);
    expect(received.slice(-2)).toEqual([zip.length, zip.length]);
  });

  it('replaces what a crash left of an earlier download', async () => {
    const base = await serve((_, response) => response.end(zip));
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'dataset.zip'), Buffer.concat([zip, zip]));
    await fetchDataset(base, { directory });
    expect(readFileSync(join(directory, 'dataset.zip'))).toEqual(zip);
  });

  it('follows redirects, even relative ones', async () => {
    const base = await serve(({ url }, response) => {
      if (url === '/zip') response.end(zip);
      else response.writeHead(302, { location: url === '/moved' ? '/zip' : `${base}/moved` }).end();
    });
    const { fetched } = aDataset(`${base}/first`);
    expect(await fetched()).toMatchObject({ kind: 'zip', bytes: zip.length });
  });

  it('follows five redirects and no more', async () => {
    const base = await serve(({ url }, response) => {
      const left = Number(url?.slice(1));
      if (left === 0) response.end(zip);
      else response.writeHead(307, { location: `/${left - 1}` }).end();
    });
    await aDataset(`${base}/5`).fetched();
    const { fetched } = aDataset(`${base}/6`);
    expect((await failureOf('download', fetched)).message).toBe(`the dataset at ${base}/6: more than 5 redirects`);
  });

  it('follows redirects to http and https only, even if file URLs are allowed', async () => {
    const base = await serve((_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());
    const { fetched } = aDataset(base, { allowFile: true });
    expect((await failureOf('download', fetched)).status).toBe(302);
  });

  it('requests every address through the given fetch, which may refuse', async () => {
    const base = await serve((_, response) => response.writeHead(302, { location: 'http://10.0.0.1/x' }).end());
    const refusal = new ValidationError([{ loc: ['dataset_url'], msg: 'a private address', type: 'private' }]);
    const { fetched } = aDataset(base, {
      fetch: (url, init) => (url.hostname === '10.0.0.1' ? Promise.reject(refusal) : fetch(url, init)),
    });
    expect(await failureOf('validation', fetched)).toBe(refusal);
  });

  it('gives the status of a refusal', async () => {
    const base = await serve((_, response) => response.writeHead(404).end('nothing here'));
    const { directory, fetched } = aDataset(`${base}/gone.zip`);
    expect(await failureOf('download', fetched)).toMatchObject({
      status: 404,
      message: `the dataset at ${base}/gone.zip: the server answered 404 Not Found`,
    });
    expect(readdirSync(directory)).toEqual([]);
  });

  it('says in words why a server is not reached', async () => {
    const { fetched } = aDataset(`http://127.0.0.1:${await closedPort()}/reviews.zip`);
    expect((await failureOf('download', fetched)).message).toContain(
      'the server refused the connection (ECONNREFUSED)',
    );
  });

  it('says that the server broke off the connection', async () => {
    const base = await serve((_, response) => {
      response.writeHead(200, { 'content-length': zip.length });
      response.write(zip.subarray(0, 100), () => response.destroy());
    });
    const { directory, fetched } = aDataset(base);
    expect((await failureOf('download', fetched)).message).toContain('closed the connection');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('gives up after the time limit', async () => {
    const base = await serve((_, response) => {
      response.write(zip.subarray(0, 10));
    });
    const { directory, fetched } = aDataset(base, { timeoutMs: 50 });
    expect((await failureOf('download', fetched)).message).toContain('the download took longer than 0.05 s');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('refuses a file that is announced too large, before its body', async () => {
    const base = await serve((_, response) => {
      response.writeHead(200, { 'content-length': 5000 });
      response.flushHeaders();
    });
    const { fetched } = aDataset(base, { maxBytes: 4096 });
    expect((await failureOf('download', fetched)).message).toContain('larger than the limit of 4 KiB');
  });

  it('refuses a file that turns out too large', async () => {
    const base = await serve((_, response) => {
      response.write(Buffer.alloc(3000));
      response.write(Buffer.alloc(3000));
    });
    const { directory, fetched } = aDataset(base, { maxBytes: 4096 });
    expect((await failureOf('download', fetched)).message).toContain('larger than the limit of 4 KiB');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('stops when it is aborted meanwhile', async () => {
    const abort = new AbortController();
    const base = await serve((_, response) => {
      response.write(zip.subarray(0, 10));
    });
    const onProgress = () => abort.abort();
    const { directory, fetched } = aDataset(base, { signal: abort.signal, onProgress });
    await failureOf('aborted', fetched);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('does not start if it is aborted before', async () => {
    const { fetched } = aDataset('http://127.0.0.1:9/', { signal: AbortSignal.abort() });
    await failureOf('aborted', fetched);
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
    const { fetched } = aDataset(`${base}/reviews.zip`);
    const { message } = await failureOf('dataset', fetched);
    expect(message).toContain(`reviews.zip: found ${kind}; expected a zip archive`);
  });
});

describe('fetchDataset over an unreliable network', () => {
  it('resumes where the connection broke', async () => {
    let broken: ServerResponse | undefined;
    const etag = '"v1"';
    const { url, asked } = await serveInTurn(
      (_, response) => {
        broken = response;
        response.writeHead(200, { 'content-length': zip.length, etag }).write(zip.subarray(0, 100));
      },
      (_, response) => {
        const bytes = `bytes 100-${zip.length - 1}/${zip.length}`;
        response.writeHead(206, { 'content-range': bytes, etag }).end(zip.subarray(100));
      },
    );
    const onProgress = () => broken?.destroy();
    const { directory, fetched } = aDataset(url.href, { onProgress });
    expect(await fetched()).toMatchObject({ bytes: zip.length });
    expect(readFileSync(join(directory, 'dataset.zip'))).toEqual(zip);
    expect(asked[1]).toMatchObject({ range: 'bytes=100-', 'if-range': etag });
  });

  it('retries after a 503', async () => {
    const { url } = await serveInTurn(
      (_, response) => response.writeHead(503).end(),
      (_, response) => response.end(zip),
    );
    expect(await aDataset(url.href).fetched()).toMatchObject({ bytes: zip.length });
  });

  it('does not retry after a 404', async () => {
    const { url, asked } = await serveInTurn((_, response) => response.writeHead(404).end());
    await failureOf('download', aDataset(url.href).fetched);
    expect(asked).toHaveLength(1);
  });

  it('retries if a server stops sending', async () => {
    const { url } = await serveInTurn(
      (_, response) => response.writeHead(200, { 'content-length': zip.length }).write(zip.subarray(0, 100)),
      (_, response) => response.end(zip),
    );
    const { fetched } = aDataset(url.href, { stallTimeoutMs: 100 });
    expect(await fetched()).toMatchObject({ bytes: zip.length });
  });

  it('stops at once if it is aborted while it waits to retry', async () => {
    const abort = new AbortController();
    const { url, asked } = await serveInTurn((_, response) => response.writeHead(503).end(() => abort.abort()));
    const { directory, fetched } = aDataset(url.href, { signal: abort.signal, retryPauseMs: 60_000 });
    await failureOf('aborted', fetched);
    expect(asked).toHaveLength(1);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('fetchDataset of a URL that is not allowed', () => {
  it.each([
    ['reviews.zip', 'not a URL; give an http or https URL'],
    ['ftp://example.com/reviews.zip', 'a URL with the scheme ftp'],
    ['file:///reviews.zip', 'a URL with the scheme file; give an http or https URL'],
    ['https://ann:secret@example.com/reviews.zip', 'contains a user name or password'],
  ])('%s: a problem at dataset_url', async (url, message) => {
    const error = await failureOf('validation', aDataset(url).fetched);
    expect(error.problems).toMatchObject([{ loc: ['dataset_url'] }]);
    expect(error.message).toContain(message);
  });
});

describe('fetchDataset of a file URL, where allowed', () => {
  it('uses a zip where it is', async () => {
    const path = join(temporaryDirectory(), 'my reviews.zip');
    writeFileSync(path, zip);
    const { directory, fetched } = aDataset(pathToFileURL(path).href, { allowFile: true });
    expect(await fetched()).toEqual({ kind: 'zip', path, name: 'my reviews.zip', bytes: zip.length });
    expect(() => readdirSync(directory)).toThrow('ENOENT');
  });

  it('uses a folder where it is', async () => {
    const path = join(temporaryDirectory(), 'reviews');
    mkdirSync(path);
    const { fetched } = aDataset(pathToFileURL(path).href, { allowFile: true });
    expect(await fetched()).toEqual({ kind: 'folder', path, name: 'reviews' });
  });

  it('says that there is no such file', async () => {
    const url = pathToFileURL(join(temporaryDirectory(), 'absent.zip')).href;
    const { fetched } = aDataset(url, { allowFile: true });
    expect((await failureOf('download', fetched)).message).toBe(
      `the dataset at ${url}: there is no such file or folder`,
    );
  });

  it('limits its size as that of a download', async () => {
    const path = join(temporaryDirectory(), 'reviews.zip');
    writeFileSync(path, zip);
    const { fetched } = aDataset(pathToFileURL(path).href, { allowFile: true, maxBytes: 100 });
    expect((await failureOf('download', fetched)).message).toContain('larger than the limit of 100 bytes');
  });

  it('refuses what is not a zip', async () => {
    const path = join(temporaryDirectory(), 'reviews.zip');
    writeFileSync(path, 'sentence\tlabel\n');
    const { fetched } = aDataset(pathToFileURL(path).href, { allowFile: true });
    expect((await failureOf('dataset', fetched)).message).toContain('found a text file; expected a zip archive');
  });
});
