import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { unzip } from '../../src/datasets/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { run } from './run-command.js';

/** `orchard export` into folders and zips. */

const model = 'sentiment-classification';

it('orchard export makes a zip whose folder answers as the model does', async () => {
  const folder = temporaryDirectory();
  const zip = join(folder, 'sentiment.zip');
  const { exitCode, stdout } = await run(['export', model, zip, '--precision', 'int8', '--json']);
  expect(exitCode).toBe(0);
  const { files, bytes, path } = JSON.parse(stdout);
  expect(path).toBe(zip);
  expect(files).toContain('onnx/model_quantized.onnx');
  expect(bytes).toBeGreaterThan(5e6);
  const unpacked = temporaryDirectory();
  await unzip(zip, unpacked);
  expect(readdirSync(unpacked)).toEqual(['sentiment']);
  const [first, second] = await Promise.all(
    [model, join(unpacked, 'sentiment')].map((name) => run(['predict', name, 'Works perfectly!'])),
  );
  expect(second?.stdout).toMatch(/^positive/);
  expect(second).toEqual(first);
});

it('orchard export overwrites nothing that is no model', async () => {
  const folder = temporaryDirectory();
  const zip = join(folder, 'sentiment.zip');
  await run(['export', model, zip, '--precision', 'int8']);
  const before = readFileSync(zip);
  expect(await run(['export', model, zip, '--precision', 'int8'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/already exists/),
  });
  expect(readFileSync(zip).equals(before)).toBe(true);
  expect(await run(['export', model, folder])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/but no config.json of a model/),
  });
});
