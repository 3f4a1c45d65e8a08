import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { loadModel } from '../../src/api/index.js';
import { encoderTypes } from '../../src/encoder/index.js';
import { compareCheckpoint, pipelineAnswersSchema } from '../support/checkpoint-oracle.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/**
 * Fine-tuned checkpoints of every architecture, with both heads, against what transformers' pipelines answered. Written by
 * `python3 bench/interop/checkpoints.py record test/api/recorded-checkpoints`.
 */

const recorded = fileURLToPath(new URL('recorded-checkpoints', import.meta.url));
const names = readdirSync(recorded);

const kept = mkdtempSync(join(tmpdir(), 'orchard-test-'));
process.env.ORCHARD_MODELS_DIRECTORY = kept;
afterAll(() => rmSync(kept, { recursive: true, force: true }));

const jsonOf = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

describe.each(names)('the checkpoint %s', (name) => {
  const folder = join(recorded, name);
  const theirs = pipelineAnswersSchema.parse(jsonOf(join(folder, 'expected.json')));

  it(`gives the answers of ${theirs.writtenBy}`, async () => {
    const { scores, compared, others } = await compareCheckpoint(folder, theirs);
    expect(others).toEqual([]);
    expect(compared).toBeGreaterThan(5);
    expect(scores).toBeLessThan(1e-5);
  });
});

it.each(['text', 'tokens'])('there is a recording of every model_type that labels %s', (head) => {
  const recordings = names.filter((name) => name.endsWith(`-${head}`));
  const types = recordings.map((name) => Object(jsonOf(join(recorded, name, 'config.json'))).model_type);
  expect([...new Set(types)].sort()).toEqual(encoderTypes().sort());
});

/** A copy of a recording, with some fields of its config.json changed. */
function copyOf(name: string, fields: object = {}): string {
  const folder = join(temporaryDirectory(), 'copy');
  cpSync(join(recorded, name), folder, { recursive: true });
  const config = { ...Object(jsonOf(join(folder, 'config.json'))), ...fields };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  return folder;
}

const answerTo = async (folder: string, text = 'the plot was fun') => {
  await using model = await resultOf(loadModel(folder, { isolation: 'inline' }));
  return resultOf(model.predict(text));
};

describe('a converted checkpoint', () => {
  it('is kept, and converted again when the checkpoint changes', async () => {
    const folder = copyOf('bert-text');
    const before = readdirSync(join(kept, '0.1.0', 'checkpoints')).length;
    await answerTo(folder);
    await answerTo(folder);
    expect(readdirSync(join(kept, '0.1.0', 'checkpoints')).length).toBe(before + 1);
    cpSync(join(recorded, 'bert-multilabel'), folder, { recursive: true });
    const { label } = Object(await answerTo(folder));
    const expected = Object(await answerTo(join(recorded, 'bert-multilabel')));
    expect(label).toBe(expected.label);
    expect(readdirSync(join(kept, '0.1.0', 'checkpoints')).length).toBe(before + 2);
  });
});
