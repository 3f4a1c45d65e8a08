import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { tuningSchema } from '../../src/jobs/index.js';
import { createTrainingHost } from '../../src/training/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { anEndlessDataset } from './endless-dataset.js';

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
  const run = host.run(
    {
      id: 'hanging',
      dataset: { url },
      model_config: { name: 'hanging', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
      training_config: {},
      directory: temporaryDirectory(),
      threads: 1,
      seed: 1,
      tuning: tuningSchema.parse({}),
    },
    { signal: controller.signal, onEvent: () => undefined },
  );
  await asked;
  const [child = 0] = runners().filter((pid) => !before.includes(pid));
  process.kill(child, 'SIGSTOP');
  controller.abort(reason);
  await expect(run).rejects.toMatchObject({ code: 'aborted' });
  expect(runners()).not.toContain(child);
  await host.close();
});
