import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TrainingError } from '../../src/contract/errors.js';
import { aReport } from '../report/a-report.js';
import { resultOf } from '../support/outcomes.js';
import { aTrainer, createJob, errorOf } from './builders.js';

const ABSENT = '01a0b1c2-d3e4-7f56-8a9b-0c1d2e3f4a5b';

describe('the report of a model', () => {
  it('tells of a READY model by its files and its id', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const { config, training, evaluation } = aReport();
    for (const [name, content] of Object.entries({ config, training, evaluation })) {
      await writeFile(join(run.spec.directory, `${name}.json`), JSON.stringify(content));
    }
    await run.finish();
    await resultOf(trainer.waitForTrainingJob(id));
    const page = await resultOf(trainer.report(id));
    expect(page).toContain('<h1>reviews</h1>');
    expect(page).toContain(id);
    expect(page).toContain('not bad at all');
  });

  it('is refused until the model is READY', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const waiting = await errorOf(trainer.report(id));
    expect(waiting).toMatchObject({ code: 'model_not_ready', status: 'RUNNING' });
    run.fail(new TrainingError('the loss is no number'));
    await resultOf(trainer.waitForTrainingJob(id));
    expect((await errorOf(trainer.report(id))).message).toContain('the loss is no number');
  });

  it('is not found for an unknown or deleted model', async () => {
    const { trainer, host } = aTrainer();
    expect((await errorOf(trainer.report(ABSENT))).code).toBe('not_found');
    const id = await createJob(trainer);
    await (await host.nextRun()).finish();
    await resultOf(trainer.waitForTrainingJob(id));
    await resultOf(trainer.deleteModel(id));
    expect(await errorOf(trainer.report(id))).toMatchObject({ code: 'not_found', resource: 'model' });
  });

  it('names the file where the folder of a model is spoiled', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    await (await host.nextRun()).finish();
    await resultOf(trainer.waitForTrainingJob(id));
    expect(await errorOf(trainer.report(id))).toMatchObject({ code: 'model_folder' });
  });
});
