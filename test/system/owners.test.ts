import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endOwnerOf, ownedName, ownerOf, sweepTemporaryFiles, TemporaryDirectory } from '../../src/system/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { anEndedName } from '../support/ended-process.js';

const ON_LINUX = process.platform === 'linux';
const HOUR_S = 3600;
const [, , host = ''] = ownedName().split('.');
const anotherMachines = (name: string) => name.replace(host, '0'.repeat(host.length));

describe('a name that says whose it is', () => {
  it.each([
    ['this process', ownedName(), 'living'],
    ['a process that has ended', anEndedName(), 'ended'],
    ['a living process of another machine', anotherMachines(ownedName()), 'elsewhere'],
    ['an ended process of another machine', anotherMachines(anEndedName()), 'elsewhere'],
    ['no process', 'reviews.zip', undefined],
    ['no process, if more follows', `${ownedName()}.zip`, undefined],
    ['no process, if more precedes it', `a${ownedName()}`, undefined],
    ['a process whose start is unknown', ownedName().replace(/\.\d*\./, '..'), 'living'],
  ])('is of %s', (_, name, owner) => {
    expect(ownerOf(name)).toBe(owner);
  });

  it('is another one each time', () => {
    expect(ownedName()).not.toBe(ownedName());
  });
});

describe.runIf(ON_LINUX)('ending the process of a name', () => {
  /** A process that waits, and the name that it would make. */
  async function aProcess(): Promise<{ child: ChildProcess; name: string; started: string }> {
    const child = spawn(process.execPath, ['--eval', 'console.log(1); setInterval(() => undefined, 1000)']);
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    // proc(5): the start time is field 22, and the name of the program, in brackets, field 2.
    const started = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[22 - 3] ?? '';
    return { child, started, name: `${child.pid}.${started}.${host}.${randomUUID()}` };
  }

  it('ends it', async () => {
    const { child, name } = await aProcess();
    expect(ownerOf(name)).toBe('living');
    const exit = once(child, 'exit');
    await endOwnerOf(name, 60_000);
    expect(ownerOf(name)).toBe('ended');
    expect(await exit).toEqual([null, 'SIGKILL']);
  });

  it('spares a later process with the same id, one on another machine, one of unknown start, and this one', async () => {
    const { child, name, started } = await aProcess();
    const names = [
      name.replace(`.${started}.`, `.${Number(started) + 1}.`),
      name.replace(`.${started}.`, '..'),
      anotherMachines(name),
      `a${name}`,
      ownedName(),
    ];
    for (const each of names) await endOwnerOf(each, 0);
    expect(ownerOf(name)).toBe('living');
    expect(child.exitCode ?? child.signalCode).toBeNull();
  });
});

describe('temporary files', () => {
  it('of ended processes are deleted; those of other machines, and other files, after an hour', async () => {
    const directory = await aDirectory();
    const kept = [ownedName(), anotherMachines(ownedName()), 'young', ownedName()];
    const gone = [anEndedName(), anotherMachines(ownedName()), 'old'];
    for (const name of [...kept, ...gone]) await writeFile(join(directory, name), '');
    const age = async (name: string | undefined, seconds: number) => {
      const at = Date.now() / 1000 - seconds;
      await utimes(join(directory, name ?? ''), at, at);
    };
    await age(kept[0], 2 * HOUR_S);
    for (const name of kept.slice(1, 3)) await age(name, HOUR_S - 600);
    for (const name of gone.slice(1)) await age(name, HOUR_S + 1);
    await sweepTemporaryFiles(directory);
    expect((await readdir(directory)).sort()).toEqual(kept.sort());
  });
});

describe('a temporary directory', () => {
  it('is made once, for its user alone, and anew after its removal', async () => {
    const temporary = new TemporaryDirectory();
    await temporary.remove(); // there is none yet
    const path = await temporary.path();
    expect(await temporary.path()).toBe(path);
    if (ON_LINUX) expect((await stat(path)).mode & 0o777).toBe(0o700);
    await writeFile(join(path, 'file'), '');
    await temporary.remove();
    await expect(stat(path)).rejects.toThrow('ENOENT');
    const next = await temporary.path();
    expect(next).not.toBe(path);
    expect((await stat(next)).isDirectory()).toBe(true);
    await temporary.remove();
  });
});
