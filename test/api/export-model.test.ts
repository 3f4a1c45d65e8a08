import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exportModel } from '../../src/index.js';
import { TextModel } from '../../src/inference/index.js';
import { type Backbone, readBackbone } from '../../src/training/index.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { probes, smallModel } from '../support/small-models.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const CATALOGUE = 'models/catalogue/sentiment-classification';

/** Texts whose inputs lie well within the ranges that 8 bits hold. */
const clear = ['a great film', 'the lamp was awful', 'boring and far too long', 'it works perfectly'];

/** The encoder's outputs for each text. */
async function outputsOf(directory: string, asked = probes): Promise<number[][]> {
  const model = await TextModel.load(directory, 1);
  const texts = await model.encode(asked.filter((text) => text !== ''));
  await model.release();
  return texts.map((windows) => windows.flatMap(({ outputs }) => [...outputs]));
}

function largestDifference(a: readonly number[][], b: readonly number[][]): number {
  return Math.max(...a.flatMap((row, at) => row.map((value, i) => Math.abs(value - (b[at]?.[i] ?? 99)))));
}

/** Of a weight. */
function bytesOf(backbone: Backbone | undefined, name: string): Buffer {
  const { buffer, byteOffset, byteLength } = backbone?.weights.get(name) ?? new Float32Array();
  return Buffer.from(buffer, byteOffset, byteLength);
}

const configOf = (directory: string): unknown => JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8'));

describe('an exported model', () => {
  it('has the weights of the catalogue in float32, answers nearly as before, and can be trained further', async () => {
    const output = join(temporaryDirectory(), 'sentiment');
    expect(await resultOf(exportModel(CATALOGUE, output))).toBe(output);
    expect(readdirSync(join(output, 'onnx'))).toEqual(['model.onnx']);
    expect(largestDifference(await outputsOf(output, clear), await outputsOf(CATALOGUE, clear))).toBeLessThan(0.25);
    expect(existsSync(join(output, 'lexical.safetensors'))).toBe(true);
    const [copy, restored] = await Promise.all(
      [output, CATALOGUE].map((directory) => readBackbone({ name: 'sentiment', directory })),
    );
    const names = [...(copy?.weights.keys() ?? [])];
    expect(names.length).toBeGreaterThan(60);
    const isSame = (name: string) => bytesOf(copy, name).equals(bytesOf(restored, name));
    expect(names.filter((name) => !isSame(name))).toEqual([]);
  });

  it('is the same model where it was in float32', async () => {
    const trained = await smallModel('multiclass classifier', temporaryDirectory());
    const output = join(temporaryDirectory(), 'float');
    await resultOf(exportModel(trained, output, { weights: 'float32' }));
    expect(readFileSync(join(output, 'onnx/model.onnx')).equals(readFileSync(join(trained, 'onnx/model.onnx')))).toBe(
      true,
    );
    expect(configOf(output)).toMatchObject({
      architectures: ['MeanPoolingClassifier'],
      auto_map: { AutoModelForSequenceClassification: 'modeling_orchard.MeanPoolingClassifier' },
    });
    expect(readFileSync(join(output, 'modeling_orchard.py'), 'utf8')).toContain('class MeanPoolingClassifier');
  });

  it('takes 8-bit weights alone where they answer, and is refused where they do not', async () => {
    const output = join(temporaryDirectory(), 'small');
    await resultOf(exportModel(CATALOGUE, output, { weights: 'int8' }));
    expect(await outputsOf(output)).toEqual(await outputsOf(CATALOGUE));
    const float = join(temporaryDirectory(), 'float');
    await resultOf(exportModel(CATALOGUE, float));
    const error = await errorOf(exportModel(float, join(temporaryDirectory(), 'none'), { weights: 'int8' }));
    expect(error).toMatchObject({
      code: 'model_folder',
      message: expect.stringContaining('tuning.quantize'),
    });
  });

  it('writes over nothing, and leaves nothing where it fails', async () => {
    const used = temporaryDirectory();
    writeFileSync(join(used, 'notes.txt'), 'mine');
    const refused = await errorOf(exportModel(CATALOGUE, used));
    expect(refused).toMatchObject({ code: 'validation', problems: [{ loc: ['output'] }] });
    const broken = join(temporaryDirectory(), 'broken');
    await resultOf(exportModel(CATALOGUE, broken));
    rmSync(join(broken, 'model.safetensors'));
    mkdirSync(join(broken, 'onnx'), { recursive: true });
    const output = join(temporaryDirectory(), 'output');
    expect(await errorOf(exportModel(broken, output))).toMatchObject({ code: 'model_folder' });
    expect(existsSync(output)).toBe(false);
  });
});
