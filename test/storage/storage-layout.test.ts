import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/errors.js';
import { thisProcess } from '../../src/files/process-identity.js';
import { fileStorage, type Storage } from '../../src/storage/index.js';
import { type OldRecord, oldRecords, writeOldStorage } from './old-storage.js';
import { aDirectory } from './temporary-place.js';

const MANY = 3000;
const manyRecords: readonly OldRecord[] = Array.from({ length: MANY }, (_, index) => {
  const name = String(index).padStart(8, '0');
  return { key: `local/${name}`, file: `local%2f${name}.json`, value: index };
});

describe('a directory of layout 1, as earlier releases wrote it', () => {
  it('has all its records, with their versions, in order', async () => {
    const directory = await anOldDirectory();
    await expectRecords(fileStorage(directory), oldRecords);
  });

  it('can be used: records are written, removed and added, and folders are as they were', async () => {
    const directory = await anOldDirectory();
    const published = join(directory, 'folders', 'm', 'published-3');
    await mkdir(published, { recursive: true });
    const storage = fileStorage(directory);
    expect(await storage.openFolder('m')).toBe(published);
    await storage.write('jobs', 'local/7', 'again', 'version of local/7');
    await storage.remove('jobs', 'A');
    await storage.write('jobs', 'local/8', 'new', undefined);
    const keys = (await fileStorage(directory).list('jobs')).map(({ key }) => key);
    const others = ['a', 'con', 'local/0190a6f0-0000-7000-8000-000000000001', '木'.repeat(200)];
    expect(keys).toEqual([...others, 'local/7', 'local/8'].sort());
    expect(await storage.read('jobs', 'local/7')).toMatchObject({ value: 'again' });
  });

  it('has every file where the storage would write it, and the number of the layout', async () => {
    const directory = await anOldDirectory();
    await fileStorage(directory).list('jobs');
    expect(await readdir(join(directory, 'records', 'jobs'))).toEqual(
      expect.arrayContaining(['a.json', '%41.json', '%63on.json', 'loc']),
    );
    expect(await readdir(join(directory, 'records', 'jobs', 'loc', 'al', '%2f'))).toEqual(
      expect.arrayContaining(['7.json', '019']),
    );
    expect(await readFile(join(directory, 'layout'), 'utf8')).toBe('{"version":2}\n');
  });

  it('keeps foreign files where they are', async () => {
    const directory = await anOldDirectory();
    await writeFile(join(directory, 'records', '.DS_Store'), '');
    await writeFile(join(directory, 'records', 'jobs', 'a copy.json'), 'not ours');
    await expectRecords(fileStorage(directory), oldRecords);
    expect(await readdir(join(directory, 'records', 'jobs'))).toContain('a copy.json');
  });

  it('is converted further if a process was killed half way and left its lock behind', async () => {
    const directory = await anOldDirectory();
    const home = join(directory, 'records', 'jobs');
    await mkdir(join(home, 'loc', 'al', '%2f'), { recursive: true });
    await rename(join(home, 'local%2f7.json'), join(home, 'loc', 'al', '%2f', '7.json'));
    await mkdir(join(home, 'loc', 'al', '%2f', '019', '0a'), { recursive: true });
    await mkdir(join(directory, 'locks'));
    const ended = { ...thisProcess, pid: spawnSync(process.execPath, ['--version']).pid };
    await writeFile(join(directory, 'locks', 'layout'), JSON.stringify({ ...ended, id: 'left behind' }));
    await expectRecords(fileStorage(directory), oldRecords);
    expect(await readdir(join(directory, 'locks'))).toEqual([]);
  });

  it('is converted once if many open it at the same time, in this process and others', async () => {
    const directory = await aDirectory();
    await writeOldStorage(directory, 'jobs', manyRecords);
    const children = [1, 2].map(async () => {
      const child = start(directory);
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      await once(child, 'close');
      expect(Number(said)).toBe(MANY);
    });
    const here = [1, 2, 3].map(() => expectRecords(fileStorage(directory), manyRecords));
    await Promise.all([...children, ...here]);
  });

  it('loses nothing to kill -9, however often', async () => {
    const directory = await aDirectory();
    await writeOldStorage(directory, 'jobs', manyRecords);
    for (const left of [MANY - 200, MANY - 1500]) {
      const child = start(directory);
      const closed = once(child, 'close');
      while ((await flatFiles(directory)) > left && child.exitCode === null);
      child.kill('SIGKILL');
      await closed;
    }
    await expectRecords(fileStorage(directory), manyRecords);
    expect(await flatFiles(directory)).toBe(0);
  });

  it('leaves a damaged file whose key it can not find where it is, and has the others', async () => {
    const directory = await anOldDirectory();
    const damaged = join(directory, 'records', 'jobs', `x~${'0'.repeat(64)}.json`);
    await writeFile(damaged, 'cut sho');
    expect((await fileStorage(directory).read('jobs', 'a'))?.value).toBe('short');
    expect(await readFile(damaged, 'utf8')).toBe('cut sho');
  });
});

describe('the number of the layout', () => {
  it('is written before the first record', async () => {
    const directory = await aDirectory();
    await fileStorage(directory).write('jobs', 'a', 1, undefined);
    expect(await readFile(join(directory, 'layout'), 'utf8')).toBe('{"version":2}\n');
  });

  it('of a later release makes every call fail, saying what to do', async () => {
    const directory = await aDirectory();
    await writeFile(join(directory, 'layout'), '{"version":3,"more":true}');
    const calls = (storage: Storage) => [
      storage.read('jobs', 'a'),
      storage.write('jobs', 'a', 1, undefined),
      storage.list('jobs'),
      storage.openFolder('m'),
    ];
    for (const call of calls(fileStorage(directory))) {
      await expect(call).rejects.toThrow(StorageError);
      await expect(call).rejects.toThrow(/is of layout 3.*open it with the release that wrote it or a later/);
    }
    expect(await readdir(directory)).toEqual(['layout']);
  });

  it('that is not a number is named', async () => {
    const directory = await aDirectory();
    await writeFile(join(directory, 'layout'), 'two');
    await expect(fileStorage(directory).list('jobs')).rejects.toThrow(join(directory, 'layout'));
  });
});

async function anOldDirectory(): Promise<string> {
  const directory = await aDirectory();
  await writeOldStorage(directory, 'jobs', oldRecords);
  return directory;
}

async function expectRecords(storage: Storage, records: readonly OldRecord[]): Promise<void> {
  const expected = records.map(({ key, value }) => ({ key, version: `version of ${key}`, value }));
  expected.sort((a, b) => (a.key < b.key ? -1 : 1));
  expect(await storage.list('jobs', { limit: Number.POSITIVE_INFINITY })).toEqual(expected);
  const some = expected.slice(0, 20);
  for (const { key, ...record } of some) expect(await storage.read('jobs', key)).toEqual(record);
}

async function flatFiles(directory: string): Promise<number> {
  const names = await readdir(join(directory, 'records', 'jobs'));
  return names.filter((name) => name.endsWith('.json')).length;
}

function start(directory: string) {
  const path = fileURLToPath(new URL('./processes/list-all.ts', import.meta.url));
  return spawn(process.execPath, ['--import', 'tsx', path, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
