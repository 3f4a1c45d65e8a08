import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DeviceError, TrainingError } from '../../src/contract/errors.js';
import { aMemoryStorage, aSuccessor, aTrainer, createJob } from '../jobs/builders.js';
import { resultOf } from '../support/outcomes.js';

/** Jobs whose device fails while they train. */

const lost = new DeviceError('webgpu', 'run', 'the driver was reset');
const device = 'webgpu';

describe('a job whose device is lost', () => {
  it('goes on from its checkpoint on the CPU, as another attempt, with a warning', async () => {
    const storage = aMemoryStorage();
    const { trainer, host } = aTrainer({ storage, device });
    const id = await createJob(trainer);
    const first = await host.nextRun();
    expect(first.spec.device).toBe('webgpu');
    const file = join(first.spec.directory, 'work', 'checkpoint.safetensors');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, 'checkpoint');
    first.emit({ type: 'warnings', warnings: [noticed] });
    first.fail(lost);
    const second = await host.nextRun();
    expect(second.spec).toEqual({ ...first.spec, device: 'cpu' });
    second.emit({ type: 'warnings', warnings: [noticed] });
    await second.finish();
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job.status).toBe('READY');
    expect(job.warnings).toEqual([
      expect.objectContaining({ kind: 'device', message: expect.stringContaining('driver was reset') }),
      noticed,
    ]);
    expect(host.runs).toHaveLength(2);
  });

  it('ends with what goes wrong on the CPU', async () => {
    const { trainer, host } = aTrainer({ storage: aMemoryStorage(), device });
    const id = await createJob(trainer);
    (await host.nextRun()).fail(lost);
    (await host.nextRun()).fail(new TrainingError('it diverged'));
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job).toMatchObject({ status: 'ERROR', error: { code: 'training', message: 'it diverged' } });
    expect(host.runs).toHaveLength(2);
  });

  it('is tried on the CPU by the next process where the first has died without having come further', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage, device });
    const id = await createJob(first.trainer);
    await first.host.nextRun();
    const { trainer, host } = await aSuccessor({ storage, device });
    const run = await host.nextRun();
    expect(run.spec.device).toBe('cpu');
    await run.finish();
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job.warnings).toEqual([expect.objectContaining({ kind: 'device' })]);
  });

  it('does not go on where it is cancelled meanwhile', async () => {
    const { trainer, host } = aTrainer({ storage: aMemoryStorage(), device });
    host.obeys = false;
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const stopped = new Promise((resolve) => run.options.signal.addEventListener('abort', resolve));
    const cancelled = resultOf(trainer.cancelTrainingJob(id));
    await stopped;
    run.fail(lost);
    await cancelled;
    expect((await resultOf(trainer.getTrainingJob(id))).status).toBe('CANCELLED');
    expect(host.runs).toHaveLength(1);
  });
});

const noticed = { kind: 'duplicate_row', count: 1, message: 'one row is there twice', examples: [] };
