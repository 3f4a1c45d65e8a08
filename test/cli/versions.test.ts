import { expect, it } from 'vitest';
import { fileStorage } from '../../src/storage/index.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { run } from './run-command.js';

const NAME = 'support@production';
const [A, B] = ['0190a6f0-0000-7000-8000-00000000000a', '0190a6f0-0000-7000-8000-00000000000b'];

/** Runs `orchard versions …` on a folder with two models. */
async function aFolder(app_id = 'local') {
  const data = temporaryDirectory();
  for (const id of [A, B]) await aReadyModelIn(fileStorage(data), app_id, { id, folder: temporaryDirectory() });
  return (...args: string[]) => run(['versions', ...args, '--data', data]);
}

it('promotes, rolls back and compares, and shows what it did', async () => {
  const versions = await aFolder();
  expect((await versions()).stdout).toBe('there are no names yet; see orchard versions promote --help\n');
  expect((await versions('promote', NAME, A)).stdout).toMatch(
    new RegExp(`^${NAME} points to ${A}\n {2}20\\S+ +promote +${A} *\n$`),
  );
  expect((await versions('promote', NAME, B)).stdout).toContain(
    `promote   ${B}  from ${A}`.replace(/ +/g, ' ').slice(0, 7),
  );
  expect((await versions('rollback', NAME, '--from', B)).stdout).toMatch(new RegExp(`^${NAME} points to ${A}\n`));
  expect((await versions('rollback', NAME)).exitCode).toBe(1);
  expect((await versions('shadow', NAME, B)).stdout).toContain('  0 queries, 0 agreed, 0 errors, 0 dropped\n');
  expect((await versions('list')).stdout).toMatch(
    new RegExp(`^name +model +since +shadow\n${NAME} +${A} +20\\S+ +${B}\n$`),
  );
  const shown = await versions('show', NAME, '--json');
  expect(JSON.parse(shown.stdout)).toMatchObject({ name: NAME, model_id: A, shadow: { model_id: B } });
  expect((await versions('shadow', NAME, '--clear')).stdout).not.toContain('shadow');
  expect((await versions('delete', NAME)).stdout).toBe(`${NAME} is deleted\n`);
});

it('says what is wrong', async () => {
  const versions = await aFolder();
  expect(await versions('show', NAME)).toMatchObject({
    exitCode: 1,
    stderr: `no version "${NAME}": promote a model first\n`,
  });
  expect(await versions('promote', 'Support', A)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('such as support@production'),
  });
  expect(await versions('shadow', NAME)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('give the id of a model, or --clear'),
  });
  expect(await run(['versions', '--data', temporaryDirectory()])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('contains no jobs or models'),
  });
});

it('works for one account', async () => {
  const versions = await aFolder('acme');
  expect((await versions('promote', NAME, A)).exitCode).toBe(1);
  expect((await versions('promote', NAME, A, '--app-id', 'acme')).exitCode).toBe(0);
  expect((await versions('list')).stdout).toContain('no names yet');
});
