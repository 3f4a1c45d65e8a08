import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { PublishedModel } from '../../src/models/catalogue-models.js';
import type { ModelProgress } from '../../src/models/index.js';
import { pull } from '../../src/models/pull-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { serve } from '../system/serve.js';

/** Pulling a model: from folders and servers, damaged, broken off, at the same time. */

const contents: Readonly<Record<string, string>> = {
  'config.json': '{ "plain": true }',
  'model.safetensors': 'weights '.repeat(40_000),
  'onnx/model_quantized.onnx': 'graph '.repeat(10_000),
};

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const files = Object.entries(contents).map(([path, text]) => ({
  path,
  bytes: Buffer.byteLength(text),
  sha256: sha256(text),
}));
const model: PublishedModel = {
  name: 'fruits',
  kind: 'pretrained model',
  folder: 'catalogue',
  version: '1.2.3',
  files,
  bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
};

/** A folder as the published package has it. */
function published(changed: Readonly<Record<string, string>> = {}): URL {
  const directory = temporaryDirectory();
  for (const [path, text] of Object.entries({ ...contents, ...changed })) {
    const file = join(directory, 'catalogue', 'fruits', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return pathToFileURL(`${directory}/`);
}

/** A static file server of `contents`, but for the requests that `instead` answers. */
async function aServer(instead: (path: string, ...call: Parameters<RequestListener>) => boolean) {
  const asked: string[] = [];
  const base = await serve((request, response) => {
    const path = (request.url ?? '').replace('/mirror/catalogue/fruits/', '');
    asked.push(`${path} ${request.headers.range ?? 'whole'}`);
    if (instead(path, request, response)) return;
    const content = Buffer.from(contents[path] ?? '');
    const [, from] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
    if (from === undefined) response.end(content);
    else {
      const range = `bytes ${from}-${content.length - 1}/${content.length}`;
      response.writeHead(206, { 'content-range': range }).end(content.subarray(Number(from)));
    }
  });
  return { from: new URL('/mirror/', base), asked };
}

const never = () => false;

function expectWhole(directory: string): void {
  for (const [path, text] of Object.entries(contents))
    expect(readFileSync(join(directory, path), 'utf8') === text, path).toBe(true);
}

describe('pulling a model', () => {
  it('copies it from a folder, byte for byte', async () => {
    const root = temporaryDirectory();
    const directory = await pull({ model, from: published(), root });
    expect(directory).toBe(join(root, 'catalogue', 'fruits'));
    expectWhole(directory);
    expect(readdirSync(join(root, '.pulling'))).toEqual([]);
  });

  it('downloads it below an address, and tells how far it is', async () => {
    const { from } = await aServer(never);
    const told: ModelProgress[] = [];
    const directory = await pull({
      model,
      from,
      root: temporaryDirectory(),
      onProgress: (progress) => told.push(progress),
    });
    expectWhole(directory);
    const received = told.map(({ receivedBytes }) => receivedBytes);
    expect(received).toEqual(received.toSorted((a, b) => a - b));
    expect(told.at(-1)).toMatchObject({ receivedBytes: model.bytes, totalBytes: model.bytes });
    expect(new Set(told.map(({ file }) => file))).toEqual(new Set(Object.keys(contents)));
  });

  it('asks for nothing where all is there, and for all again where a byte is wrong', async () => {
    const { from, asked } = await aServer(never);
    const root = temporaryDirectory();
    const directory = await pull({ model, from, root });
    asked.length = 0;
    await pull({ model, from, root });
    expect(asked).toEqual([]);
    const damaged = join(directory, 'model.safetensors');
    writeFileSync(damaged, readFileSync(damaged, 'utf8').replace('weights', 'weighty'));
    await pull({ model, from, root });
    expectWhole(directory);
    expect(asked).toContain('model.safetensors whole');
  });

  it('refuses bytes that are not the published ones, and leaves no folder', async () => {
    const root = temporaryDirectory();
    const weights = contents['model.safetensors']?.replace('weights', 'weighty') ?? '';
    const from = published({ 'model.safetensors': weights });
    await expect(pull({ model, from, root })).rejects.toMatchObject({
      code: 'model_download',
      model: 'fruits',
      file: 'model.safetensors',
      message: expect.stringContaining(`SHA-256 of its bytes is ${sha256(weights)}`),
    });
    expect(readdirSync(root)).not.toContain('catalogue');
    // the same place with the right bytes goes on from there
    expectWhole(await pull({ model, from: published(), root }));
  });

  it('names the file and the status of a server that lacks it', async () => {
    const { from } = await aServer((path, _request, response) => {
      if (path === 'config.json') response.writeHead(404).end();
      return path === 'config.json';
    });
    const outcome = pull({ model, from, root: temporaryDirectory() });
    await expect(outcome).rejects.toMatchObject({
      code: 'model_download',
      file: 'config.json',
      status: 404,
      url: `${from.href}catalogue/fruits/config.json`,
    });
  });

  it('says what a folder that lacks it should hold', async () => {
    const from = pathToFileURL(`${temporaryDirectory()}/`);
    const outcome = pull({ model, from, root: temporaryDirectory() });
    const message = expect.stringContaining('the folder that holds catalogue/ and backbones/');
    await expect(outcome).rejects.toMatchObject({ code: 'model_download', message });
  });

  it('goes on after a transfer that broke off, in the next call too', async () => {
    const root = temporaryDirectory();
    const half = 100_000;
    const signal = AbortSignal.timeout(500);
    const cut = await aServer((path, _request, response) => {
      if (path !== 'model.safetensors') return false;
      // half of it, and then silence
      response.write(contents[path]?.slice(0, half));
      return true;
    });
    const error = await pull({ model, from: cut.from, root, signal }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'aborted' });
    const { from, asked } = await aServer(never);
    expectWhole(await pull({ model, from, root }));
    expect(asked).toContain(`model.safetensors bytes=${half}-`);
    expect(asked).not.toContain('config.json whole');
  });

  it('works once for callers at the same time', async () => {
    const { from, asked } = await aServer(never);
    const root = temporaryDirectory();
    const directories = await Promise.all([1, 2, 3].map(() => pull({ model, from, root })));
    expect(new Set(directories).size).toBe(1);
    expect(asked).toHaveLength(files.length);
  });

  it('ends when its signal fires', async () => {
    const signal = AbortSignal.abort();
    const outcome = pull({ model, from: published(), root: temporaryDirectory(), signal });
    await expect(outcome).rejects.toMatchObject({ code: 'aborted' });
  });
});
