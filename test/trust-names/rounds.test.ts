import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';

/**
 * Whole rounds of the built package in processes of their own, with names of datasets, models and accounts that plain
 * objects have as properties already. None may ever become a property of an object that others share.
 */

const script = (name: string) => fileURLToPath(new URL(`rounds/${name}.mjs`, import.meta.url));

/** Runs a round to its end. @param folder its own */
async function run(round: string, folder = temporaryDirectory()) {
  const place = temporaryDirectory();
  const [home, changes] = [join(place, 'home'), join(place, 'changes.txt')];
  mkdirSync(home);
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    TMPDIR: home,
    NODE_OPTIONS: `--import ${script('watch-prototypes')}`,
    PROTOTYPE_CHANGES: changes,
  };
  await promisify(execFile)(process.execPath, [script(round), folder], { env });
  const told = readFileSync(changes, 'utf8').trim().split('\n');
  return {
    mainThreads: told.filter((line) => line === 'main thread watched').length,
    otherThreads: told.filter((line) => line === 'worker thread watched').length,
    changes: told.filter((line) => !line.endsWith(' watched')),
    leftAtHome: readdirSync(home, { recursive: true }),
  };
}

// A job that is cancelled may have started, and more threads may answer than one.
describe.each([
  { round: 'labels', where: 'threads', mainThreads: 1, otherThreads: 2 },
  { round: 'entities', where: 'a process and a thread', mainThreads: 2, otherThreads: 1 },
  { round: 'passages', where: 'one thread', mainThreads: 1, otherThreads: 0 },
])('a round with strange $round in $where', ({ round, mainThreads, otherThreads }) => {
  it('ends well, changes nothing that all objects have, and leaves nothing at home', async () => {
    const told = await run(round);
    expect(told.mainThreads).toBeGreaterThanOrEqual(mainThreads);
    expect(told.otherThreads).toBeGreaterThanOrEqual(otherThreads);
    expect(told.changes).toEqual([]);
    expect(told.leftAtHome).toEqual([]);
  });
});

it('takes strange names in paths, headers, query strings and bodies, of accounts and of models', async () => {
  const labels = ['__proto__', 'constructor', 'toString'] as const;
  const models = Object.fromEntries([...labels, 'hasOwnProperty'].map((name) => [name, labels]));
  const { changes, leftAtHome } = await run('requests', await tinyCatalogue(temporaryDirectory(), models));
  expect(changes).toEqual([]);
  expect(leftAtHome).toEqual([]);
});
