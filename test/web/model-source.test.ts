import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportModel } from '../../src/index.js';
import { openModel } from '../../src/web.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const folder = 'models/catalogue/sentiment-classification';
const text = 'Works perfectly!';

let file: Buffer;
let origin: string;
/** What the server answers, by path. */
const answers = new Map<string, (response: ServerResponse) => void>();
const server = createServer((request, response) => {
  const answer = answers.get(request.url ?? '');
  if (answer !== undefined) answer(response);
  else response.writeHead(404).end('nothing here');
});

beforeAll(async () => {
  const path = join(temporaryDirectory(afterAll), 'sentiment.orchard');
  await resultOf(exportModel(folder, path, { for: 'web' }));
  file = readFileSync(path);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const serve = (path: string, body: Uint8Array): string => {
  answers.set(path, (response) => response.end(body));
  return `${origin}${path}`;
};

/** A copy of the file with another byte at a place. */
function damaged(at: number): Uint8Array {
  const copy = Uint8Array.from(file);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

describe('a model by its URL', () => {
  it('is a file, given as a string or a URL object, or a folder if the URL ends with a slash', async () => {
    const expected = await resultOf((await resultOf(openModel(file))).predict(text));
    const url = serve('/sentiment.orchard', file);
    const names = ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'lexical.safetensors'];
    for (const name of [...names, 'onnx/model_quantized.onnx']) {
      serve(`/models/sentiment/${name}`, readFileSync(join(folder, name)));
    }
    for (const source of [url, new URL(url), `${origin}/models/sentiment/`]) {
      const model = await resultOf(openModel(source));
      expect(await resultOf(model.predict(text))).toEqual(expected);
    }
  });

  it('that is damaged is refused, wherever the damage is, and so is one that is cut off', async () => {
    for (const at of [9, 14, 2000, Math.floor(file.length / 2), file.length - 70]) {
      const error = await errorOf(openModel(serve('/damaged.orchard', damaged(at))));
      expect(error).toMatchObject({ code: 'model_folder', file: `${origin}/damaged.orchard` });
    }
    const weights = await errorOf(openModel(serve('/damaged.orchard', damaged(Math.floor(file.length / 2)))));
    expect(weights.message).toContain('its checksum is');
    const cut = await errorOf(openModel(serve('/cut.orchard', file.subarray(0, -100))));
    expect(cut).toMatchObject({ code: 'model_folder', message: expect.stringContaining('cut off') });
    const other = await errorOf(openModel(serve('/page.html', Buffer.from('<!doctype html><title>Sign in</title>'))));
    expect(other).toMatchObject({ code: 'model_folder', message: expect.stringContaining('orchard export --for web') });
  });

  it("that the server doesn't have fails with its status, and a file of a folder with its name", async () => {
    expect(await errorOf(openModel(`${origin}/nothing.orchard`))).toMatchObject({
      ...{ code: 'model_download', status: 404 },
      message: expect.stringContaining(`${origin}/nothing.orchard`),
    });
    serve('/part/config.json', readFileSync(join(folder, 'config.json')));
    const error = await errorOf(openModel(`${origin}/part/`));
    expect(error).toMatchObject({
      code: 'model_download',
      status: 404,
      file: expect.stringMatching(/\.(json|onnx|safetensors)$/),
    });
  });

  it('whose server hangs up fails, whether it has sent something or not', async () => {
    answers.set('/gone', (response) => response.destroy());
    expect(await errorOf(openModel(`${origin}/gone`))).toMatchObject({ code: 'model_download' });
    answers.set('/half', (response) => {
      response.writeHead(200, { 'content-length': file.length });
      response.write(file.subarray(0, 100_000), () => response.destroy());
    });
    expect(await errorOf(openModel(`${origin}/half`))).toMatchObject({ code: 'model_download' });
  });

  it('is no longer loaded once the signal fires, and the connection is closed', async () => {
    const stop = new AbortController();
    const closed = new Promise<void>((resolve) => {
      answers.set('/slow', (response) => {
        response.on('close', resolve);
        response.writeHead(200, { 'content-length': file.length });
        response.write(file.subarray(0, 100_000), () => stop.abort(new Error('enough')));
      });
    });
    const error = await errorOf(openModel(`${origin}/slow`, { signal: stop.signal }));
    expect(error).toMatchObject({ code: 'aborted', cause: expect.objectContaining({ message: 'enough' }) });
    await closed;
  });

  it('is not asked for if the signal has fired before', async () => {
    answers.set('/unasked', () => {
      throw new Error('the server was asked');
    });
    expect(await errorOf(openModel(`${origin}/unasked`, { signal: AbortSignal.abort() }))).toMatchObject({
      code: 'aborted',
    });
  });
});

it('a stream is cancelled as soon as the signal fires', async () => {
  const aborting = new AbortController();
  let pieces = 0;
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    async pull(out) {
      pieces += 1;
      if (pieces === 3) aborting.abort();
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (pieces < 50) out.enqueue(file.subarray((pieces - 1) * 1000, pieces * 1000));
      else out.close();
    },
    cancel() {
      cancelled = true;
    },
  });
  expect(await errorOf(openModel(stream, { signal: aborting.signal }))).toMatchObject({ code: 'aborted' });
  expect({ cancelled, few: pieces < 10 }).toEqual({ cancelled: true, few: true });
  expect(stream.locked).toBe(false);
});
