import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { unzip } from '../../src/datasets/index.js';
import { exportModel } from '../../src/model-folder/index.js';
import { failureOf, resultOf } from '../support/outcomes.js';
import { smallModel } from '../support/small-models.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const ONNX = 'onnx/model.onnx';
const QUANTIZED = 'onnx/model_quantized.onnx';

/** A folder with both graphs, of which the 8-bit one answers. */
async function aModel(): Promise<string> {
  const directory = await smallModel('classifier of first tokens', temporaryDirectory());
  await cp(join(directory, ONNX), join(directory, QUANTIZED));
  const config = JSON.parse(await readFile(join(directory, 'config.json'), 'utf8'));
  const orchard = { ...config.orchard, graph: QUANTIZED };
  await writeFile(join(directory, 'config.json'), JSON.stringify({ ...config, orchard }));
  return directory;
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1)).sort();
}

const configOf = async (directory: string) =>
  JSON.parse(await readFile(join(directory, 'config.json'), 'utf8'));

describe('exportModel', () => {
  it('copies all that there is, to the byte', async () => {
    const directory = await aModel();
    const target = join(temporaryDirectory(), 'copy');
    const { path, files, bytes } = await resultOf(exportModel(directory, target));
    expect(path).toBe(target);
    expect(await filesIn(target)).toEqual(await filesIn(directory));
    expect([...files].sort()).toEqual(await filesIn(directory));
    let size = 0;
    for (const file of files) {
      const copied = await readFile(join(target, file));
      expect(copied.equals(await readFile(join(directory, file)))).toBe(true);
      size += copied.length;
    }
    expect(bytes).toBe(size);
  });

  it('keeps the 32-bit graph, which then answers', async () => {
    const directory = await aModel();
    const target = join(temporaryDirectory(), 'fp32');
    await resultOf(exportModel(directory, target, { precision: 'fp32' }));
    expect(await filesIn(target)).toEqual((await filesIn(directory)).filter((name) => name !== QUANTIZED));
    const { graph, ...orchard } = (await configOf(directory)).orchard;
    expect(graph).toBe(QUANTIZED);
    expect(await configOf(target)).toEqual({ ...(await configOf(directory)), orchard });
  });

  it('keeps the 8-bit graph alone', async () => {
    const directory = await aModel();
    const target = join(temporaryDirectory(), 'int8');
    await resultOf(exportModel(directory, target, { precision: 'int8' }));
    const left = (await filesIn(directory)).filter((name) => name !== ONNX && name !== 'model.safetensors');
    expect(await filesIn(target)).toEqual(left);
    expect(await configOf(target)).toEqual(await configOf(directory));
  });

  it('makes a zip, of a folder of its name', async () => {
    const directory = await aModel();
    const target = join(temporaryDirectory(), 'reviews.zip');
    await resultOf(exportModel(directory, target, { precision: 'fp32' }));
    const unpacked = temporaryDirectory();
    await unzip(target, unpacked);
    expect(await readdir(unpacked)).toEqual(['reviews']);
    const copy = join(unpacked, 'reviews');
    expect((await readFile(join(copy, ONNX))).equals(await readFile(join(directory, ONNX)))).toBe(true);
    expect((await configOf(copy)).orchard.graph).toBeUndefined();
  });

  it('refuses weights that the model does not have', async () => {
    const directory = await smallModel('classifier of first tokens', temporaryDirectory());
    const target = join(temporaryDirectory(), 'int8');
    const failure = await failureOf('model_folder', () =>
      resultOf(exportModel(directory, target, { precision: 'int8' })),
    );
    expect(failure.message).toMatch(/32-bit weights alone/);
    expect(await readdir(join(target, '..'))).toEqual([]);
  });

  it('overwrites nothing', async () => {
    const target = temporaryDirectory();
    await writeFile(join(target, 'mine.txt'), 'mine');
    const failure = await failureOf('validation', () => resultOf(exportModel(temporaryDirectory(), target)));
    expect(failure.message).toMatch(/is there already/);
    expect(await readdir(target)).toEqual(['mine.txt']);
  });

  it('refuses a folder that is no model', async () => {
    const target = join(temporaryDirectory(), 'copy');
    await mkdir(join(target, '..'), { recursive: true });
    await failureOf('model_folder', () => resultOf(exportModel(temporaryDirectory(), target)));
    expect(await readdir(join(target, '..'))).toEqual([]);
  });
});
