import { execFileSync } from 'node:child_process';
import { expect, it, onTestFinished } from 'vitest';
import { tuningSchema } from '../../src/jobs/index.js';
import { createTrainingHost, type TrainingSpec } from '../../src/training/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { anEndlessDataset } from './endless-dataset.js';

const aRunOn = (url: string): TrainingSpec => ({
  id: 'hanging',
  dataset: { url },
  model_config: { name: 'hanging', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
  training_config: {},
  directory: temporaryDirectory(),
  threads: 1,
  seed: 1,
  tuning: tuningSchema.parse({}),
});

/** Child processes of this one that train. */
function runners(): number[] {
  const listed = execFileSync('ps', ['--ppid', String(process.pid), '-o', 'pid=,args='], { encoding: 'utf8' });
  return listed.split('\n').flatMap((line) => (/training-runner/.test(line) ? [Number.parseInt(line, 10)] : []));
}

it.skipIf(process.platform !== 'linux').each([
  ['cancelled', undefined],
  ['stopped for a while', 'closing'],
])('a run whose process hangs ends when it is %s, and its process with it', async (_, reason) => {
  const { url, asked } = await anEndlessDataset();
  const host = createTrainingHost('process');
  const controller = new AbortController();
  const before = runners();
  const run = host.run(aRunOn(url), { signal: controller.signal, onEvent: () => undefined });
  await asked;
  const [child = 0] = runners().filter((pid) => !before.includes(pid));
  process.kill(child, 'SIGSTOP');
  controller.abort(reason);
  await expect(run).rejects.toMatchObject({ code: 'aborted' });
  expect(runners()).not.toContain(child);
  await host.close();
});

it("a run whose process can't be started fails, and says why", async () => {
  const { execPath } = process;
  process.execPath = '/nowhere/node';
  onTestFinished(() => {
    process.execPath = execPath;
  });
  const host = createTrainingHost('process');
  const run = host.run(aRunOn('http://127.0.0.1:9/'), {
    signal: new AbortController().signal,
    onEvent: () => undefined,
  });
  await expect(run).rejects.toThrow(/the training of job hanging failed: its process can't be started: .*ENOENT/);
  await host.close();
});

it.skipIf(process.platform !== 'linux')(
  'a run that is cancelled just after its process died is cancelled',
  async () => {
    const { url, asked } = await anEndlessDataset();
    const host = createTrainingHost('process');
    const controller = new AbortController();
    const run = host.run(aRunOn(url), { signal: controller.signal, onEvent: () => undefined });
    await asked;
    const [child = 0] = runners();
    process.kill(child, 'SIGKILL');
    while (runners().length > 0); // without a turn of the event loop, in which Node.js would notice it
    controller.abort();
    await expect(run).rejects.toMatchObject({ code: 'aborted' });
    await host.close();
  },
);
