import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { fileStorage, type Storage } from '../../src/storage/index.js';
import { increment } from './processes/increment.js';
import { FOLDER_FILES, roundText } from './processes/round.js';
import { aDirectory } from './temporary-place.js';

/** After how many rounds each of two writers that share a directory is killed, run by run. */
const KILLED_AFTER = [
  { left: 1, right: 9 },
  { left: 14, right: 2 },
  { left: 25, right: 17 },
];

it('loses no increment of a counter that two processes write', async () => {
  const directory = await aDirectory();
  const runs = [1, 2].map(async () => {
    const child = start('count-up.ts', directory, '150');
    const [exitCode] = await once(child, 'close');
    expect(exitCode).toBe(0);
  });
  await Promise.all(runs);
  expect((await fileStorage(directory).read('counters', 'shared'))?.value).toBe(300);
});

it('keeps every acknowledged write, and each state whole, when its writers are killed with kill -9', async () => {
  const directory = await aDirectory();
  let begun = 0;
  let ended = 0;
  for (const killedAfter of KILLED_AFTER) {
    const writers = Object.entries(killedAfter).map(async ([name, rounds]) => {
      const said = await runUntilKilled(directory, name, rounds);
      begun += said.begun.length;
      ended += said.ended.length;
      return { name, said };
    });

    for (const { name, said } of await Promise.all(writers)) {
      const storage = fileStorage(directory);
      const possible = [said.ended.at(-1), said.begun.at(-1)];
      expect(possible).toContain((await storage.read('rounds', name))?.value);
      expect(possible).toContain(await publishedRound(storage, name));
    }
    const counter = (await fileStorage(directory).read('counters', 'shared'))?.value;
    expect(counter).toBeGreaterThanOrEqual(ended);
    expect(counter).toBeLessThanOrEqual(begun);
  }
  await expectStillUsable(fileStorage(directory));
});

function start(script: string, ...args: string[]) {
  const path = fileURLToPath(new URL(`./processes/${script}`, import.meta.url));
  return spawn(process.execPath, ['--import', 'tsx', path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** @returns the rounds that the writer said it had begun and ended. */
async function runUntilKilled(directory: string, name: string, rounds: number) {
  const child = start('write-until-killed.ts', directory, name);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (roundsSaid(output, 'begin').length > rounds) child.kill('SIGKILL');
  });
  const [, signal] = await once(child, 'close');
  expect(signal).toBe('SIGKILL');
  return { begun: roundsSaid(output, 'begin'), ended: roundsSaid(output, 'end') };
}

function roundsSaid(output: string, word: 'begin' | 'end'): number[] {
  return [...output.matchAll(/(\w+) (\d+)\n/g)].filter((line) => line[1] === word).map((line) => Number(line[2]));
}

/** The round whose folder is published, after checking that it is whole. */
async function publishedRound(storage: Storage, name: string): Promise<number> {
  const directory = (await storage.openFolder(name)) ?? '';
  expect(await readdir(directory)).toEqual(FOLDER_FILES);
  const contents = await Promise.all(FOLDER_FILES.map((file) => readFile(join(directory, file), 'utf8')));
  const round = Number.parseInt(contents[0] ?? '', 10);
  for (const content of contents) expect(content === roundText(round)).toBe(true);
  return round;
}

async function expectStillUsable(storage: Storage): Promise<void> {
  const before = await storage.read('counters', 'shared');
  await increment(storage);
  expect((await storage.read('counters', 'shared'))?.value).toBe(Number(before?.value) + 1);
  await expect(storage.write('counters', 'shared', 0, before?.version)).rejects.toThrow('since it was read');
  await storage.stageFolder('left');
  await storage.publishFolder('left');
  await storage.close();
}
