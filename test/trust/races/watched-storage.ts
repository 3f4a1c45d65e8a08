import type fc from 'fast-check';
import type { Storage } from '../../../src/storage/index.js';
import { legal } from './reference.js';

/** What the records of the jobs went through, as it was written. */
export class JobHistory {
  readonly #statuses = new Map<string, string>();
  /** What should never have happened. */
  readonly violations: string[] = [];

  note(key: string, status: string): void {
    const before = this.#statuses.get(key) ?? '';
    this.#statuses.set(key, status);
    if (before !== status && !legal[before]?.includes(status)) {
      this.violations.push(`${key} went from ${before || 'nothing'} to ${status}`);
    }
    const running = [...this.#statuses.values()].filter((each) => each === 'RUNNING').length;
    if (running > 1) this.violations.push(`${running} jobs are RUNNING`);
  }

  erased(key: string): void {
    this.#statuses.delete(key);
  }
}

/** The storage, each call of which waits for its turn, as the scheduler gives it, and whose jobs are watched. */
export function watched(storage: Storage, history: JobHistory, scheduler?: fc.Scheduler): Storage {
  const turn = async (name: string) => {
    await scheduler?.schedule(Promise.resolve(), name);
  };
  return {
    specificationVersion: 1,
    read: async (...args) => {
      await turn(`read ${args[0]}`);
      return storage.read(...args);
    },
    write: async (...args) => {
      const [collection, key, value] = args;
      await turn(`write ${collection}`);
      const version = await storage.write(...args);
      if (collection === 'jobs') history.note(key, statusIn(value));
      return version;
    },
    remove: async (...args) => {
      await turn(`remove ${args[0]}`);
      await storage.remove(...args);
      if (args[0] === 'jobs') history.erased(args[1]);
    },
    list: async (...args) => {
      await turn(`list ${args[0]}`);
      return storage.list(...args);
    },
    listKeys: async (...args) => {
      await turn(`listKeys ${args[0]}`);
      return storage.listKeys(...args);
    },
    stageFolder: async (key) => {
      await turn('stage');
      return storage.stageFolder(key);
    },
    publishFolder: async (key) => {
      await turn('publish');
      return storage.publishFolder(key);
    },
    discardStaged: (key) => storage.discardStaged(key),
    openFolder: async (key) => {
      await turn('open');
      return storage.openFolder(key);
    },
    removeFolder: async (key) => {
      await turn('removeFolder');
      return storage.removeFolder(key);
    },
    close: () => storage.close(),
  };
}

function statusIn(value: unknown): string {
  const status = typeof value === 'object' && value !== null && 'status' in value ? value.status : undefined;
  return typeof status === 'string' ? status : 'no status';
}
