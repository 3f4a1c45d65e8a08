import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DeviceError } from '../../src/contract/errors.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aSuccessor, aTrainer, createJob } from './builders.js';
import type { FakeRun } from './fake-host.js';

const lost = () => new DeviceError('webgpu', 'run', 'the driver was reset');
const duplicates = { kind: 'duplicate_row', count: 1, message: 'one', examples: [] };

async function checkpoint({ spec }: FakeRun): Promise<void> {
  await mkdir(join(spec.directory, 'work'), { recursive: true });
  await writeFile(join(spec.directory, 'work', 'checkpoint.safetensors'), 'weights');
}

describe('a job whose device is lost', () => {
  it('goes on with the CPU, and says why', async () => {
    const { trainer, host } = aTrainer({ device: 'webgpu' });
    const id = await createJob(trainer);
    const first = await host.nextRun();
    expect(first.spec.device).toBe('webgpu');
    first.emit({ type: 'warnings', warnings: [duplicates] });
    first.fail(lost());
    const second = await host.nextRun();
    expect(second.spec).toEqual({ ...first.spec, device: 'cpu' });
    second.emit({ type: 'warnings', warnings: [duplicates] });
    await second.finish();
    const { status, warnings } = await resultOf(trainer.waitForTrainingJob(id));
    expect(status).toBe('READY');
    expect(warnings.map(({ kind }) => kind).sort()).toEqual(['device', 'duplicate_row']);
    expect(warnings.find(({ kind }) => kind === 'device')?.message).toContain('the driver was reset');
  });

  it('ends in ERROR if it runs on the CPU already', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    (await host.nextRun()).fail(lost());
    expect(await resultOf(trainer.waitForTrainingJob(id))).toMatchObject({
      status: 'ERROR',
      error: { code: 'device' },
    });
    expect(host.runs).toHaveLength(1);
  });

  it('ends in ERROR if the CPU fails in the same way', async () => {
    const { trainer, host } = aTrainer({ device: 'webgpu' });
    const id = await createJob(trainer);
    (await host.nextRun()).fail(lost());
    (await host.nextRun()).fail(lost());
    expect(await resultOf(trainer.waitForTrainingJob(id))).toMatchObject({
      status: 'ERROR',
      error: { code: 'device' },
    });
    expect(host.runs).toHaveLength(2);
  });

  it('is not run again if it was cancelled', async () => {
    const { trainer, host } = aTrainer({ device: 'webgpu' });
    host.obeys = false;
    const id = await createJob(trainer);
    const run = await host.nextRun();
    run.options.signal.addEventListener('abort', () => run.fail(lost()));
    await resultOf(trainer.cancelTrainingJob(id));
    expect(await resultOf(trainer.getTrainingJob(id))).toMatchObject({ status: 'CANCELLED', warnings: [] });
    expect(host.runs).toHaveLength(1);
  });
});

describe('a job whose process died', () => {
  /** The run of the trainer after one that died with its process. */
  async function runAfterDeath(device: 'cpu' | 'webgpu', die: (run: FakeRun) => Promise<void> = async () => undefined) {
    const storage = aMemoryStorage();
    const dying = aTrainer({ storage, device });
    const id = await createJob(dying.trainer);
    await die(await dying.host.nextRun());
    const { trainer, host } = await aSuccessor({ storage, device });
    const run = await host.nextRun();
    await run.finish();
    return { device: run.spec.device, job: await resultOf(trainer.waitForTrainingJob(id)) };
  }

  it('on a device and without progress goes on with the CPU, and says why', async () => {
    const { device, job } = await runAfterDeath('webgpu');
    expect(device).toBe('cpu');
    expect(job).toMatchObject({
      status: 'READY',
      warnings: [
        { kind: 'device', message: expect.stringContaining('the process that trained with the device webgpu') },
      ],
    });
  });

  it('on a device after progress goes on with the device', async () => {
    expect(await runAfterDeath('webgpu', checkpoint)).toMatchObject({ device: 'webgpu', job: { warnings: [] } });
  });

  it('on the CPU has nothing to say', async () => {
    expect(await runAfterDeath('cpu')).toMatchObject({ device: 'cpu', job: { warnings: [] } });
  });
});
