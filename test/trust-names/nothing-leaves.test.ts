import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { command } from '../cli/run-command.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aModelFile } from './telemetry/a-model-file.js';
import { describeTraced, outside, type Traced, traced } from './traced-process.js';

/** Nothing leaves the machine unasked: what processes of the built package open, looked at from outside. */

const script = (path: string) => fileURLToPath(new URL(`${path}.mjs`, import.meta.url));

/** Folders of a process: one to work in, one for temporary files. */
function folders() {
  const cwd = temporaryDirectory();
  const temporary = join(temporaryDirectory(), 'temporary');
  mkdirSync(temporary);
  return { cwd, temporary };
}

/** It made no socket, looked up no name, wrote nowhere but into these folders, and warned of nothing. */
function expectNothingLeft({ sockets, lookups, written, stderr }: Traced, allowed: readonly string[]) {
  expect({ sockets, lookups, stderr, elsewhere: outside(written, allowed) }).toEqual({
    sockets: [],
    lookups: [],
    stderr: '',
    elsewhere: [],
  });
}

describeTraced('a process without a home', () => {
  it('is seen when it looks up a name', async () => {
    const { cwd, temporary } = folders();
    const lookup = "require('node:dns').lookup('orchard.invalid', () => undefined)";
    const { lookups, sockets } = await traced(['-e', lookup], { cwd, temporary });
    expect(lookups).not.toEqual([]);
    expect(sockets).not.toEqual([]);
  });

  it('is seen when ONNX Runtime by itself writes to the home folder', async () => {
    const { cwd, temporary } = folders();
    const home = join(temporaryDirectory(), 'home');
    mkdirSync(home);
    const args = [script('telemetry/compute-without-orchard'), await aModelFile()];
    const { written } = await traced(args, { cwd, temporary, env: { HOME: home } });
    expect(outside(written, [cwd, temporary]).join('\n')).toContain(home);
  });

  it('trains in a process of its own and predicts in a thread: no file elsewhere, no connection, no name looked up, no warning', async () => {
    const { cwd, temporary } = folders();
    expectNothingLeft(await traced([script('rounds/entities'), cwd], { cwd, temporary }), [cwd, temporary]);
  });

  it('runs the commands train and predict the same way', async () => {
    const { cwd, temporary } = folders();
    const rows = Array.from({ length: 20 }, (_, row) => `it is ${row % 2 ? 'good' : 'bad'} number ${row},${row % 2}`);
    writeFileSync(join(cwd, 'rows.csv'), `text,label\n${rows.join('\n')}\n`);
    const train = [command, 'train', 'rows.csv', '--output', 'model', '--epochs', '1', '--json'];
    const trained = await traced(train, { cwd, temporary });
    expectNothingLeft({ ...trained, stderr: '' }, [cwd, temporary]);
    expect(JSON.parse(trained.stdout)).toMatchObject({ directory: join(cwd, 'model'), labels: ['0', '1'] });
    const predict = [command, 'predict', 'model', 'it is good', '--json'];
    const predicted = await traced(predict, { cwd, temporary });
    expectNothingLeft(predicted, [cwd, temporary]);
    expect(JSON.parse(predicted.stdout)).toMatchObject({ line: 1, text: 'it is good' });
  });
});
