export { checkCollection, checkKey, checkLimit, DEFAULT_LIMIT } from './arguments.js';
export { fileStorage } from './file-storage.js';
export { KeyedQueue } from './keyed-queue.js';
export { memoryStorage } from './memory-storage.js';
export { pathOfKey } from './record-path.js';
export * from './storage.js';
export { type CreateStorage, storageContract } from './storage-contract.js';
