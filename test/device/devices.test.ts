import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { createClassificationArchive } from '../../src/families/index.js';
import { deviceInformation } from '../../src/graph/index.js';
import { listDevices } from '../../src/inference/index.js';
import type { TrainingRunEvent } from '../../src/training/index.js';
import { runTraining } from '../../src/training/run-training.js';
import { resultOf } from '../support/outcomes.js';

/** A device that no platform of these tests has. */
const missing = process.platform === 'win32' ? 'coreml' : 'dml';

it('are listed with the processor first, each with a time or a reason', async () => {
  const devices = await listDevices();
  expect(devices[0]).toEqual({ device: 'cpu', isAvailable: true, productMs: expect.any(Number) });
  for (const { isAvailable, productMs, reason } of devices) {
    expect(isAvailable ? productMs : reason).toBeTruthy();
    expect(isAvailable ? reason : productMs).toBeUndefined();
  }
  expect(devices.map(({ device }) => device)).toContain('webgpu');
  expect(devices.map(({ device }) => device)).not.toContain(missing);
});

it('of another platform are not there', async () => {
  expect(await deviceInformation(missing)).toMatchObject({ isAvailable: false });
});

it('are listed by the command, a line each', async () => {
  const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [command, 'devices']);
  const lines = stdout.trim().split('\n');
  expect(lines[0]).toMatch(/^cpu {5}a product of two 512×512 matrices takes \d+\.\d ms$/);
  expect(lines.find((line) => line.startsWith('cuda'))).toMatch(/not available|takes/);
});

it('that are not there leave a training to the processor, with a warning in the job and in its record', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'orchard-device-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const rows = ['good', 'bad'].flatMap((label) =>
    ['it is', 'they are', 'all was', 'that was'].map((text) => ({ text: `${text} ${label}`, label })),
  );
  const archive = join(folder, 'data.zip');
  const type = 'binary-text-classification';
  await resultOf(createClassificationArchive({ type, name: 'small', rows, devRows: rows }, archive));
  const events: TrainingRunEvent[] = [];
  await runTraining(
    {
      ...{ id: 'job', seed: 1, threads: 1, device: missing, allowFileUrls: true, tuning: {} },
      dataset_url: pathToFileURL(archive).href,
      model_config: { name: 'small', type, family: 'Papaya', size: 'mini' },
      training_config: { num_epochs: 1, use_pretrained: false },
      directory: join(folder, 'model'),
    },
    { signal: new AbortController().signal, onEvent: (event) => void events.push(event) },
  );
  const warned = events.flatMap((event) => (event.type === 'warnings' ? event.warnings : []));
  expect(warned).toContainEqual(
    expect.objectContaining({ kind: 'device', message: expect.stringContaining(missing) }),
  );
  expect(events.filter(({ type }) => type === 'device')).toEqual([{ type: 'device', device: 'cpu' }]);
});
