import type { Storage } from '../src/storage/index.js';
import type { ContractCase } from './contract-case.js';
import { folderContract } from './folder-contract.js';
import { listContract } from './list-contract.js';
import { recordContract } from './record-contract.js';

/**
 * A new, empty storage for one test. The suite closes it; the caller deletes what is left, such as a
 * directory.
 */
export type CreateStorage = () => Storage | Promise<Storage>;

/**
 * What every {@link Storage} must do, as tests for any runner:
 * ```ts
 * for (const { name, run } of storageContract(() => myStorage())) it(name, run);
 * ```
 */
export function storageContract(create: CreateStorage): readonly ContractCase[] {
  const promises = { ...recordContract, ...listContract, ...folderContract };
  return Object.entries(promises).map(([name, check]) => ({
    name,
    run: async () => {
      const storage = await create();
      try {
        await check(storage);
      } finally {
        await storage.close();
      }
    },
  }));
}
