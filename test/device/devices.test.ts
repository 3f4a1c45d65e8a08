import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { listDevices, Predictor } from 'orchard-nlp';
import { expect, it } from 'vitest';
import { type DeviceInformation, deviceInformation, promisingDevices } from '../../src/graph/index.js';
import { resultOf } from '../support/outcomes.js';
import { missing, trainTiny } from './tiny-jobs.js';

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

it.each([
  ['are measured by auto where their product takes at most five times that of the CPU', 50, ['webgpu']],
  ['are passed over by auto where it takes longer: that is no GPU', 51, []],
  ['are passed over by auto where they do not work', undefined, []],
])('%s', async (_, productMs, expected) => {
  const look = async (device: DeviceInformation['device']): Promise<DeviceInformation> => {
    if (device === 'cpu') return { device, isAvailable: true, productMs: 10 };
    if (productMs === undefined) return { device, isAvailable: false, reason: 'none' };
    return { device, isAvailable: true, productMs };
  };
  const promising = await promisingDevices(look);
  expect(promising.filter((device) => device === 'webgpu')).toEqual(expected);
});

it('are listed by the command, a line each', async () => {
  const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [command, 'devices']);
  const lines = stdout.trim().split('\n');
  expect(lines[0]).toMatch(/^cpu {5}a product of two 512×512 matrices takes \d+\.\d ms$/);
  expect(lines.map((line) => line.split(' ')[0])).toContain('webgpu');
});

it.each(['worker', 'process'] as const)(
  'that are not there leave a job in a %s to the processor, with a warning in the job and in its record',
  async (isolation) => {
    const { id, job, devices, storage } = await trainTiny({ device: missing, isolation });
    expect(job.status).toBe('READY');
    const warning = { kind: 'device', message: expect.stringContaining(missing) };
    expect(job.warnings).toContainEqual(expect.objectContaining(warning));
    expect(devices).toEqual(['cpu']);
    const folder = (await storage.openFolder(id)) ?? '';
    const record = JSON.parse(await readFile(join(folder, 'training.json'), 'utf8'));
    expect(record.device).toBe('cpu');
    expect(record.warnings).toContainEqual(expect.objectContaining(warning));
    await using predictor = new Predictor({ storage, device: missing });
    expect((await resultOf(predictor.predictCustom(id, 'the lamp'))).data.labels).toHaveLength(2);
    expect(predictor.stats().models).toMatchObject([
      { device: 'cpu', deviceFailure: expect.stringContaining(missing) },
    ]);
  },
);
