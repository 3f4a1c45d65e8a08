export { ensureDirectory, move, readTextIfPresent } from './durable-files.js';
export { FileLocks } from './file-locks.js';
export { fileStorage } from './file-storage.js';
export { memoryStorage } from './memory-storage.js';
export * from './storage.js';
export { type CreateStorage, storageContract } from './storage-contract.js';
export { failedWith } from './storage-failure.js';
export { TemporaryDirectory } from './temporary-directory.js';
