import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type PostgresStorageOptions, postgresStorage } from '../../src/postgres/index.js';
import type { Storage } from '../../src/storage/index.js';
import type { PrivateServer } from './private-server.js';

/** A storage as another machine has it: with a pool and a cache of its own; closed when the running test has ended. */
export function aMachine(server: PrivateServer, options: PostgresStorageOptions): Storage {
  const storage = postgresStorage(server.connectionString, options);
  onTestFinished(() => storage.close());
  return storage;
}

/** Several machines on one new schema. */
export function machines(server: PrivateServer): { schema: string; one: Storage; other: Storage } {
  const schema = server.newSchema();
  return { schema, one: aMachine(server, { schema }), other: aMachine(server, { schema }) };
}

export async function stage(storage: Storage, key: string, files: Record<string, string>): Promise<string> {
  const directory = await storage.stageFolder(key);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
  return directory;
}

export async function publish(storage: Storage, key: string, files: Record<string, string>): Promise<void> {
  await stage(storage, key, files);
  await storage.publishFolder(key);
}

/** The files of the published folder; undefined where none is. */
export async function published(storage: Storage, key: string): Promise<Record<string, string> | undefined> {
  const directory = await storage.openFolder(key);
  return directory === undefined ? undefined : contentOf(directory);
}

export async function contentOf(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const contents = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return Object.fromEntries(files.map((file, index) => [file.slice(directory.length + 1), contents[index] ?? '']));
}
